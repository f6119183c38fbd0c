/**
 * Conversions in the midst of a computation that cannot wait, where only a service can do them: the computation is left, the
 * service asked, and the computation begun again with what is known by then.
 */
import { inTurns } from '../../component-base/next-turn.ts'
import { finished, type Steps } from '../../machinery/values/steps.ts'
import { apiVersionOf, type Resource } from '../../machinery/objects/resource.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'

type Known = Map<string, KubeObject>

/** Says what a computation is to be begun again with. */
class NeededConversion extends Error {
  readonly key: string
  readonly run: () => KubeObject | Promise<KubeObject>

  constructor(key: string, run: () => KubeObject | Promise<KubeObject>) {
    super('a conversion is needed')
    this.key = key
    this.run = run
  }
}

/** Of the computation that runs; it never waits, so there is one. */
let known: Known | undefined

/** The object in another version of its kind; to be called within `withConversions` where a service converts. */
export function convertedObject(object: KubeObject, from: Resource, to: Resource): KubeObject {
  const { custom } = from
  if (custom === undefined) throw new Error(`${from.kind} is no custom kind`)
  const convert = (): KubeObject | Promise<KubeObject> => {
    const typed = { ...object, kind: from.kind, apiVersion: apiVersionOf(from) }
    return custom.inVersion(typed, to.version)
  }
  if (!custom.isConverted) return convert() as KubeObject
  // As upstream: what has no fields has none in other versions, and no service is asked.
  const fields = Object.keys(object).filter((name) => name !== 'kind' && name !== 'apiVersion')
  if (fields.length === 0) return { ...object, apiVersion: apiVersionOf(to) }
  const key = `${from.version} ${to.version} ${JSON.stringify(object)}`
  const found = known?.get(key)
  if (found === undefined) throw new NeededConversion(key, convert)
  return found
}

/**
 * The computation's result. Where a service converts it may be begun several times, so it must leave what it is given as it is
 * until its end; a large one takes several turns of the event loop.
 */
export function withConversions<T>(
  resource: Resource,
  compute: () => Steps<T>,
  { isLarge }: { isLarge: boolean },
): T | Promise<T> {
  if (resource.custom?.isConverted === true) return askingFor(compute)
  return isLarge ? inTurns(compute()) : finished(compute())
}

async function askingFor<T>(compute: () => Steps<T>): Promise<T> {
  const own: Known = new Map()
  for (;;) {
    let needed: NeededConversion
    known = own
    try {
      return finished(compute())
    } catch (error) {
      if (!(error instanceof NeededConversion)) throw error
      needed = error
    } finally {
      known = undefined
    }
    own.set(needed.key, await needed.run())
  }
}
