/** Bootstrap signer: keeps one signature per signing token on the public cluster-info (upstream: controller/bootstrap/bootstrapsigner). */
import type { ConfigMap, Secret } from '../../api/generated/types.ts'
import { runController, source } from '../../client/controller.ts'
import { deepEqual, keyOf } from '../../machinery/objects/object.ts'
import type { ControllerEntry } from '../controller-context.ts'
import { signDetached } from './detached-jws.ts'
import type { SigningToken } from './token-secret.ts'
import { signingToken, tokenSecretType } from './token-secret.ts'

const prefix = 'jws-kubeconfig-'

/** The ConfigMap's data with exactly the signatures of these tokens; undefined without a payload to sign. */
export function signedData(
  data: Readonly<Record<string, string>>,
  tokens: readonly SigningToken[],
): Record<string, string> | undefined {
  const { kubeconfig } = data
  if (kubeconfig === undefined) return undefined
  const others = Object.entries(data).filter(([key]) => !key.startsWith(prefix))
  const signatures = tokens.map(({ id, token }) => [
    `${prefix}${id}`,
    signDetached(kubeconfig, id, token),
  ])
  return Object.fromEntries([...others, ...signatures]) as Record<string, string>
}

export const bootstrapSigner: ControllerEntry = {
  name: 'bootstrap-signer-controller',
  aliases: ['bootstrapsigner'],
  defaultOn: false,
  start: async ({ client, informers, dialect, resources, clock, log, queues }, signal) => {
    const key = `${dialect.publicNamespace}/cluster-info`
    const configMaps = client.resource<ConfigMap>(resources.configMaps)
    const infos = informers.informer<ConfigMap>(resources.configMaps, {
      namespace: dialect.publicNamespace,
      fieldSelector: 'metadata.name=cluster-info',
    })
    const secrets = informers.informer<Secret>(resources.secrets, {
      namespace: dialect.systemNamespace,
      fieldSelector: `type=${tokenSecretType(dialect)}`,
    })
    await runController(
      {
        queues,
        name: 'bootstrap-signer-controller',
        informers: [
          source(infos, (info) => (keyOf(info) === key ? [key] : [])),
          source(secrets, () => [key]),
        ],
        reconcile: async () => {
          const nowMs = clock.now()
          const info = infos.get(key)
          const tokens = secrets
            .list()
            .map((secret) => signingToken(secret, dialect, nowMs))
            .filter((token) => token !== undefined)
          const data = info === undefined ? undefined : signedData(info.data ?? {}, tokens)
          if (info === undefined || data === undefined) return undefined
          if (!deepEqual(data, info.data)) {
            await configMaps.update({ ...info, data }, { signal })
            log.info('cluster-info signed', { tokens: tokens.length })
          }
          const ends = tokens.flatMap(({ expiresAtMs }) => expiresAtMs ?? [])
          return ends.length === 0 ? undefined : { requeueAfterMs: Math.min(...ends) - nowMs }
        },
        clock,
        log,
      },
      signal,
    )
  },
}
