/**
 * SlimReader: lists and watches a resource, and keeps of each object only a row. Lists come page by page, so that memory is bounded by the
 * rows.
 */
import type { ReflectorSink } from '../../../components/client/reflector.ts'
import { runReflector } from '../../../components/client/reflector.ts'
import type { Client } from '../../../components/client/client.ts'
import type { ListOptions } from '../../../components/client/resource-client.ts'
import type { KubeList, KubeObject } from '../../../components/machinery/objects/object.ts'
import { isStatusError } from '../../../components/machinery/objects/status-error.ts'
import type { Resource } from '../../../components/machinery/objects/resource.ts'

/** Small: what a page is parsed into dies young then, where a large one would be moved to the old heap before it is dropped. */
const pageSize = 100

/** What the reflector sees of an object: enough to go on from. */
interface Slim<Row> extends KubeObject {
  readonly row: Row
}

export interface SlimOptions<Row> {
  readonly client: Client
  readonly resource: Resource
  readonly toRow: (object: KubeObject) => Row
  readonly sink: ReflectorSink<Row>
  readonly namespace?: string | undefined
}

function slimmed<Row>({ metadata }: KubeObject, row: Row): Slim<Row> {
  const { resourceVersion } = metadata
  return { metadata: resourceVersion === undefined ? {} : { resourceVersion }, row }
}

/** Rejects when the viewer may not list the resource; goes on over everything else, as every reflector. */
export async function followSlim<Row>(
  options: SlimOptions<Row>,
  signal: AbortSignal,
): Promise<void> {
  const { client, resource, toRow, sink, namespace } = options
  const inner = client.resource(resource)
  const denied = Promise.withResolvers<never>()
  const list = async (
    asked: ListOptions = {},
    ends?: AbortSignal,
  ): Promise<KubeList<Slim<Row>>> => {
    const items: Slim<Row>[] = []
    let continued: string | undefined
    for (;;) {
      const { resourceVersion = '', ...rest } = asked
      // At "0" the server serves everything at once, whatever the limit.
      const first = { resourceVersion: resourceVersion === '0' ? '' : resourceVersion }
      const from = continued === undefined ? first : { continue: continued }
      const page = await inner
        .list({ ...rest, ...from, limit: pageSize }, ends)
        .catch((error: unknown) => {
          if (isStatusError(error) && [401, 403, 404].includes(error.code)) denied.reject(error)
          throw error
        })
      for (const object of page.items) items.push({ metadata: {}, row: toRow(object) })
      continued = page.metadata.continue
      if (!continued) return { ...page, items }
    }
  }
  async function* watch(...[asked, ends]: Parameters<typeof inner.watch>) {
    for await (const { type, object } of inner.watch(asked, ends)) {
      const row = type === 'BOOKMARK' ? (undefined as Row) : toRow(object)
      yield { type, object: slimmed(object, row) }
    }
  }
  const reflector = runReflector<Slim<Row>>(
    {
      client: { resource, list, watch },
      selection: namespace === undefined ? {} : { namespace },
      clock: client.clock,
      log: client.log,
      sink: {
        replace: (objects) => sink.replace(objects.map(({ row }) => row)),
        apply: (type, { row }) => sink.apply(type, row),
      },
    },
    signal,
  )
  await Promise.race([reflector, denied.promise])
}
