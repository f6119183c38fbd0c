/**
 * Conversion of custom resources by a handler of this process: it becomes the webhook in `spec.conversion` of a
 * CustomResourceDefinition, and what stood there comes back when it is disposed of.
 */
import { apiGroup } from '../components/api/dialect.ts'
import { answerConversion } from './conversion-review.ts'
import { jsonAnswer, startHandlerServer } from './handler-server.ts'
import type { HandlerServer, ServedCluster } from './handler-server.ts'
import { isGone, registered } from './handler-registration.ts'
import type {
  ConversionHandler,
  ConversionOptions,
  KubernetesObject,
  ObjectClient,
  Registration,
} from './types.ts'

/** All objects of a list come in one review: as many bytes as the API server takes in an answer. */
const maxBodyBytes = 256 * 1024 * 1024

interface Conversion {
  readonly strategy: string
  readonly webhook?: { readonly clientConfig?: { readonly url?: string } }
}

/** The definition, as seen by who changes its conversion. */
function definitionOf(client: ObjectClient, { dialect }: ServedCluster, name: string) {
  const kind = 'CustomResourceDefinition'
  const definition = { apiVersion: `${apiGroup(dialect, 'apiextensions')}/v1`, kind, name }
  return {
    conversion: async (): Promise<Conversion> => {
      const { spec } = await client.get<KubernetesObject & { spec: { conversion?: Conversion } }>(
        definition,
      )
      return spec.conversion ?? { strategy: 'None' }
    },
    convertBy: async (value: object): Promise<void> => {
      const patch = [{ op: 'add', path: '/spec/conversion', value }]
      await client.patch(definition, patch, { type: 'json' })
    },
  }
}

/** Names the server in the definition. The API server uses what it has answered. Gives what restores the earlier conversion. */
async function register(
  { url, caBundle }: HandlerServer,
  definition: ReturnType<typeof definitionOf>,
  conversionReviewVersions: readonly string[],
): Promise<() => Promise<void>> {
  const clientConfig = { url: `${url}/convert`, caBundle }
  const earlier = await definition.conversion()
  await definition.convertBy({
    strategy: 'Webhook',
    webhook: { clientConfig, conversionReviewVersions },
  })
  return async () => {
    try {
      const { webhook } = await definition.conversion()
      // Another one may stand there: of a restored state, or of who changed it meanwhile.
      if (webhook?.clientConfig?.url === clientConfig.url) await definition.convertBy(earlier)
    } catch (error) {
      if (!isGone(error)) throw error
    }
  }
}

/**
 * Serves conversions for one cluster. The function resolves when the API server converts through the handler. It rejects with the
 * server's StatusError for a definition that does not exist or cannot be converted, and when a handler converts it already. A
 * handler that throws, or gives a wrong object, fails the whole review with its message; `dispose` rejects with the error.
 */
export function createConversions(
  client: ObjectClient,
  cluster: ServedCluster,
): (options: ConversionOptions, handler: ConversionHandler) => Promise<Registration> {
  const converted = new Set<string>()
  return async ({ crd, versions = ['v1'] }, handler) => {
    if (converted.has(crd))
      throw new Error(`conversion: a handler converts ${crd} already: dispose of that one first`)
    converted.add(crd)
    try {
      const server = await startHandlerServer(cluster, {
        what: `conversion of ${crd}`,
        maxBodyBytes,
        answer: async ({ body, failed }) =>
          jsonAnswer(200, await answerConversion(await body(), handler, failed)),
      })
      return await registered(server, async () => {
        const unregister = await register(server, definitionOf(client, cluster, crd), versions)
        return () => unregister().finally(() => converted.delete(crd))
      })
    } catch (error) {
      converted.delete(crd)
      throw error
    }
  }
}
