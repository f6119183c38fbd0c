/**
 * Time followers: the components of a cluster of processes, as they follow its time.
 *
 * When is all done that is due? Every component counts its requests under way, as client and as server, and grows a counter with each
 * request and each chunk of a watch. All are asked in rounds. A round is quiet if no component has work under way. Two quiet rounds running with
 * the same counters (the first may be the last of the moment before) are the end, as in Mattern's four-counter method: whatever was on its way between two components in the first round has
 * been read by the second, since each answers after a turn of its event loop, in which it reads what has arrived; and what it then
 * did would have been counted. Work that takes longer than `patienceMs` is not waited for, nor is a component that does not answer.
 */
import type { Clock } from '../../components/component-base/clock.ts'
import type { Quietness } from '../../components/component-base/time-commands.ts'
import { timeVariable } from '../../components/component-base/time-commands.ts'
import { isRealTime } from '../../components/component-base/time-setting.ts'
import type { TimeSetting } from '../../components/component-base/time-setting.ts'
import { patienceMs } from '../../components/component-base/under-way.ts'
import type { DueTimers, TimeFollowers } from '../lab/cluster-time.ts'
import type { ManagedComponent } from './managed-component.ts'
import { CommandError } from './child-commands.ts'

/** What is known of one run of a component. */
interface Follower {
  readonly pid: number
  isApart: boolean
  /** It has not answered in time, and is not asked before it has. */
  isSilent: boolean
  /** What it was sent last. */
  setting: TimeSetting | undefined
  /** When its next timer was due by its last answer. */
  dueMs: number | undefined
}

type Answer = Quietness & { readonly name: string }

export class ComponentFollowers implements TimeFollowers {
  readonly #components: () => Iterable<ManagedComponent>
  readonly #clock: Clock
  readonly #followers = new Map<string, Follower>()
  /** What the newest process of each name was given when it was spawned. */
  readonly #given = new Map<string, TimeSetting | undefined>()
  readonly #skews = new Map<string, number>()
  #setting: TimeSetting | undefined
  /** Of the last round, if it was quiet. */
  #counters: string | undefined

  /** `clock`: real time. */
  constructor(components: () => Iterable<ManagedComponent>, clock: Clock) {
    this.#components = components
    this.#clock = clock
  }

  get apart(): readonly string[] {
    return [...this.#components()]
      .filter((component) => this.#followerOf(component)?.isApart === true)
      .map(({ spec }) => spec.name)
  }

  /** Environment of a process of this name that is spawned now: it begins with the cluster's time. */
  environmentOf(name: string): Readonly<Record<string, string>> {
    this.#given.set(name, this.#setting)
    const setting = this.#settingOf(name)
    return setting === undefined ? {} : { [timeVariable]: JSON.stringify(setting) }
  }

  /** Undefined: real time. */
  #settingOf(name: string): TimeSetting | undefined {
    const skewMs = this.#skews.get(name)
    if (skewMs === undefined) return this.#setting
    const nowMs = this.#clock.now()
    return { ...(this.#setting ?? { nowMs, atMs: nowMs, speed: 1 }), skewMs }
  }

  /** Sets one component's clock ahead of the others' (negative: behind), also of its later runs; 0 ends that. */
  async skew(component: ManagedComponent, aheadMs: number): Promise<void> {
    this.#skews.set(component.spec.name, aheadMs)
    await this.#tell(component)
  }

  async set(setting: TimeSetting): Promise<void> {
    if (this.#setting === undefined && isRealTime(setting)) return
    this.#setting = setting
    await Promise.all([...this.#components()].map((component) => this.#tell(component)))
  }

  /** A component has changed: it may have started, or go on after it was stopped. */
  changed(component: ManagedComponent): void {
    const follower = this.#followerOf(component)
    if (follower === undefined || follower.setting === this.#setting) return
    void this.#tell(component)
  }

  async fireDue(setting: TimeSetting): Promise<DueTimers> {
    this.#setting = setting
    const untilMs = this.#clock.elapsed() + patienceMs
    for (let answers = await this.#askInOrder(); ; answers = await this.#ask(this.#components())) {
      const isQuiet = !answers.some(({ isBusy }) => isBusy)
      const before = this.#counters
      this.#counters = isQuiet ? countersOf(answers) : undefined
      const isDone = isQuiet && this.#counters === before
      if (isDone || this.#clock.elapsed() >= untilMs) return next(answers)
      if (!isQuiet) await this.#clock.sleep(1)
    }
  }

  /** Those with something due come last: whoever they turn to knows what time it is. */
  async #askInOrder(): Promise<Answer[]> {
    const [rest, due]: [ManagedComponent[], ManagedComponent[]] = [[], []]
    const nowMs = this.#setting?.nowMs ?? 0
    for (const component of this.#components()) {
      const { dueMs = 0 } = this.#followerOf(component) ?? {}
      ;(dueMs <= nowMs ? due : rest).push(component)
    }
    return [...(await this.#ask(rest)), ...(await this.#ask(due))]
  }

  async #ask(components: Iterable<ManagedComponent>): Promise<Answer[]> {
    const answers = await Promise.all(
      [...components].map(async (component) => {
        const { name } = component.spec
        const follower = this.#followerOf(component)
        const answer = (await this.#call(component, 'fire-due', this.#settingOf(name))) as
          Quietness | undefined
        if (answer === undefined || follower === undefined) return []
        follower.setting = this.#setting
        follower.dueMs = answer.dueMs ?? Infinity
        return [{ ...answer, name }]
      }),
    )
    return answers.flat()
  }

  async #tell(component: ManagedComponent): Promise<void> {
    const follower = this.#followerOf(component)
    const setting = this.#settingOf(component.spec.name)
    if (follower === undefined || setting === undefined) return
    if (isStopped(component) || follower.isSilent) return
    follower.setting = this.#setting
    await this.#call(component, 'time', setting)
  }

  /** The component's answer; undefined from one that does not follow, does not answer, or ends. */
  async #call(component: ManagedComponent, name: string, params: unknown): Promise<unknown> {
    const follower = this.#followerOf(component)
    if (follower === undefined || follower.isApart || follower.isSilent || isStopped(component))
      return undefined
    const answered = component.command(name, params).then(
      (answer) => {
        if (follower.isSilent) this.#heard(component, follower)
        return answer
      },
      (error: unknown) => {
        if (error instanceof CommandError && error.why === 'unknown') follower.isApart = true
        return undefined
      },
    )
    const late = Promise.withResolvers<undefined>()
    const cancel = this.#clock.after(patienceMs, () => {
      follower.isSilent = true
      late.resolve(undefined)
    })
    return await Promise.race([answered, late.promise]).finally(cancel)
  }

  /** It answers again: it has to learn what time it is. */
  #heard(component: ManagedComponent, follower: Follower): void {
    follower.isSilent = false
    this.changed(component)
  }

  /** Undefined for a component that does not run. */
  #followerOf(component: ManagedComponent): Follower | undefined {
    const { spec } = component
    const { pid } = component.status()
    if (pid === undefined) return undefined
    const known = this.#followers.get(spec.name)
    if (known?.pid === pid) return known
    // A program of others has no commands.
    const isApart = spec.executable !== undefined
    const setting = this.#given.get(spec.name)
    const follower = { pid, isApart, isSilent: false, setting, dueMs: undefined }
    this.#followers.set(spec.name, follower)
    return follower
  }
}

/** It would not answer. */
function isStopped(component: ManagedComponent): boolean {
  const { state } = component.status()
  return state === 'paused' || state === 'stuck'
}

/** All have counted as much as before if the text is the same. */
function countersOf(answers: readonly Answer[]): string {
  return answers
    .map(({ name, activity }) => `${name} ${activity}`)
    .toSorted()
    .join()
}

function next(answers: readonly Answer[]): DueTimers {
  const due = answers.flatMap(({ dueMs }) => (dueMs === null ? [] : [dueMs]))
  const awaited = answers
    .flatMap((one) => (one.awaited === null ? [] : [{ ...one.awaited, owner: one.name }]))
    .toSorted((a, b) => a.dueMs - b.dueMs)[0]
  const restlessMs = Math.min(...answers.map((one) => one.restlessMs ?? Infinity))
  return { dueMs: due.length === 0 ? undefined : Math.min(...due), awaited, restlessMs }
}
