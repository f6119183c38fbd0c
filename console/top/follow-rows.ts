/**
 * followRows: a list and its watch as rows, for as long as it is asked to, whatever happens to the server. The list is read page by
 * page and whole objects are dropped at once, so that 20,000 pods take the memory of their rows.
 */
import { runReflector } from '../../components/client/reflector.ts'
import type { ResourceClient, WatchEvent } from '../../components/client/resource-client.ts'
import type { Clock } from '../../components/component-base/clock.ts'
import { silentLog } from '../../components/component-base/log.ts'
import { keyOf, type KubeObject } from '../../components/machinery/objects/object.ts'
import { readRows } from '../slim/read-rows.ts'

/** What the reflector needs of an object, and its row. */
interface Slim<R> extends KubeObject {
  readonly row: R
}

export interface FollowRows<T extends KubeObject, R> {
  readonly client: Pick<ResourceClient<T>, 'list' | 'watch' | 'resource'>
  readonly namespace?: string
  readonly toRow: (object: T) => R
  readonly clock: Clock
  /** Rows by key, `namespace/name`; undefined: it is gone. */
  readonly put: (changes: readonly (readonly [key: string, row: R | undefined])[]) => void
  /** The server has answered. */
  readonly onReached: () => void
  /** A list or watch has failed; it is tried again. */
  readonly onTrouble: (error: unknown) => void
}

function slimmed<T extends KubeObject, R>(object: T, toRow: (object: T) => R): Slim<R> {
  const { namespace, name, resourceVersion } = object.metadata
  return {
    metadata: {
      ...(namespace === undefined ? {} : { namespace }),
      ...(name === undefined ? {} : { name }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    },
    row: toRow(object),
  }
}

/** The client as the reflector sees it: its objects are rows, and it tells how it fares. */
function slimClient<T extends KubeObject, R>(
  options: FollowRows<T, R>,
): Pick<ResourceClient<Slim<R>>, 'list' | 'watch' | 'resource'> {
  const { client, toRow, onReached, onTrouble } = options
  const slim = (object: T): Slim<R> => slimmed(object, toRow)
  return {
    resource: client.resource,
    list: async (selection = {}, signal) => {
      // Pages are of the newest state: with a resourceVersion they would be of that one, or no pages.
      const { resourceVersion: _, ...rest } = selection
      try {
        const asked = signal === undefined ? { selection: rest } : { selection: rest, signal }
        const { rows, resourceVersion } = await readRows(client, slim, asked)
        onReached()
        return { metadata: { resourceVersion }, items: rows }
      } catch (error) {
        if (signal?.aborted !== true) onTrouble(error)
        throw error
      }
    },
    watch: async function* (watchOptions, signal): AsyncGenerator<WatchEvent<Slim<R>>, void> {
      try {
        for await (const { type, object } of client.watch(watchOptions, signal)) {
          onReached()
          const isMark = type === 'BOOKMARK'
          // A bookmark has a resourceVersion alone.
          yield { type, object: isMark ? ({ metadata: object.metadata } as Slim<R>) : slim(object) }
        }
      } catch (error) {
        if (!signal.aborted) onTrouble(error)
        throw error
      }
    },
  }
}

/** Runs until `signal` aborts. */
export async function followRows<T extends KubeObject, R>(
  options: FollowRows<T, R>,
  signal: AbortSignal,
): Promise<void> {
  const { namespace, clock, put } = options
  let known = new Set<string>()
  await runReflector<Slim<R>>(
    {
      client: slimClient(options),
      selection: namespace === undefined ? {} : { namespace },
      clock,
      log: silentLog,
      sink: {
        replace: (objects) => {
          const fresh = new Set(objects.map(keyOf))
          const gone = [...known].filter((key) => !fresh.has(key))
          known = fresh
          put([
            ...gone.map((key) => [key, undefined] as const),
            ...objects.map((object) => [keyOf(object), object.row] as const),
          ])
        },
        apply: (type, object) => {
          const key = keyOf(object)
          if (type === 'DELETED') known.delete(key)
          else known.add(key)
          put([[key, type === 'DELETED' ? undefined : object.row]])
        },
      },
    },
    signal,
  )
}
