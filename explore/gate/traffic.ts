/** Traffic: what the controller under test asked for and was shown in one run, in order. */
import type { Target, Point } from './target.ts'
import { describeTarget, isWrite } from './target.ts'

/** A request of the controller that was answered, or that a fault met. */
export interface Exchange {
  readonly atMs: number
  readonly step: number
  readonly point: Point
  /** Undefined: it got no answer. */
  status: number | undefined
  /** What a fault did to it. */
  fault: string | undefined
  /** It counts as work of the controller: no lease, no event, no review. */
  readonly isQuiet: boolean
  /** A write after which the object is as it was. */
  changesNothing: boolean
  /** Its list takes an old view (resourceVersion 0). */
  readonly takesOldView: boolean
}

/** An event that a watch of the controller was sent. */
export interface ShownEvent {
  readonly atMs: number
  readonly step: number
  readonly resource: string
}

/** Something that the run did. */
export interface Mark {
  readonly atMs: number
  readonly step: number
  readonly text: string
}

export class Traffic {
  readonly exchanges: Exchange[] = []
  readonly events: ShownEvent[] = []
  readonly marks: Mark[] = []
  readonly #counts = new Map<string, number>()
  /** The newest resourceVersion that an answer showed, by object. */
  readonly #versions = new Map<string, string>()
  /** Generated names by what the server made of them. */
  readonly #generated = new Map<string, string>()

  /** The target as plans name it, and which of its kind it is. */
  count(target: Target): Point {
    const name = this.#generated.get(target.name) ?? target.name
    const known = { ...target, name }
    const key = JSON.stringify(known)
    const nth = (this.#counts.get(key) ?? 0) + 1
    this.#counts.set(key, nth)
    return { ...known, nth }
  }

  generated(name: string, prefix: string): void {
    this.#generated.set(name, `${prefix}*`)
  }

  /** Notes what the server answered: an object. Gives whether it is as it was in the answer before. */
  answered(
    { resource, namespace, name }: Point,
    { uid, resourceVersion }: { readonly uid?: string; readonly resourceVersion?: string },
  ): boolean {
    const key = `${resource.replace(/\/.*$/, '')} ${namespace}/${name} ${uid ?? ''}`
    const isSame = resourceVersion !== undefined && this.#versions.get(key) === resourceVersion
    if (resourceVersion !== undefined) this.#versions.set(key, resourceVersion)
    return isSame
  }

  /** What it asked for in a step, as often as it may have been. */
  askedIn(step: number): ReadonlySet<string> {
    const asked = this.exchanges.filter((one) => one.step === step && !one.isQuiet)
    return new Set(asked.map(({ point }) => describeTarget(point)))
  }

  get writes(): readonly Exchange[] {
    return this.exchanges.filter(({ point, isQuiet }) => isWrite(point) && !isQuiet)
  }

  /** Writes that may have made a difference. */
  get effects(): readonly Exchange[] {
    return this.writes.filter(({ changesNothing, status = 500 }) => !changesNothing && status < 300)
  }
}
