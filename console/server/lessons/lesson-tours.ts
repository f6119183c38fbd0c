/**
 * Lesson tours: the viewer's way through the lessons that were begun on this cluster, one of each lesson. A tour that no page follows holds
 * its variables and nothing else, so it is kept until it is ended; there are never more than lessons.
 */
import type { ControlClient } from '../../../cluster/control-client.ts'
import type { Client } from '../../../components/client/client.ts'
import { messageOf } from '../../../components/component-base/log.ts'
import { StatusError } from '../../../components/machinery/objects/status-error.ts'
import { componentStates, type ComponentStates } from '../../lessons-engine/component-states.ts'
import { lessonPlace, type LessonPlace } from '../../lessons-engine/lesson-place.ts'
import { createLessonSession, type LessonSession } from '../../lessons-engine/lesson-session.ts'
import { toolsOfLesson } from '../../lessons-engine/lesson-tools.ts'
import { readLesson, type Lesson } from '../../lessons-engine/lesson.ts'
import { deleteMade } from '../../lessons-engine/made-objects.ts'
import { needsRequestsAlone, performRequests } from '../../lessons-engine/perform-requests.ts'
import { obstacleOf } from '../../lessons-engine/obstacle.ts'
import { shippedLessons } from '../../lessons-engine/shipped-lessons.ts'
import type { Verdict } from '../../lessons-engine/verdict.ts'
import type {
  LessonAnswer,
  LessonRow,
  LessonStepRow,
  LessonStepSubscription,
} from '../../protocol/lessons.ts'
import type { LiveTable } from '../live/table.ts'

interface Tour {
  readonly session: LessonSession
  /** Steps that were seen done. */
  readonly done: Set<number>
  /** Steps that the console is doing. */
  readonly performing: Set<number>
  readonly ended: AbortController
}

export interface LessonTours {
  list(): LessonRow[]
  /** Throws a StatusError when the lesson cannot be taken on this cluster. A lesson that was begun goes on. */
  begin(name: string): Promise<void>
  answer(name: string, answer: LessonAnswer): void
  /** Does the step with the viewer's rights. Rejects with a StatusError that says what failed. */
  perform(name: string, step: number): Promise<void>
  /** Deletes what the lesson made. A tour whose objects cannot be deleted goes on. */
  end(name: string): Promise<void>
  /** Fills the table with the step and its verdicts, until it is done. Rejects when the check cannot be made. */
  follow(
    wanted: LessonStepSubscription,
    table: LiveTable<LessonStepRow>,
    signal: AbortSignal,
  ): Promise<void>
}

export interface LessonToursOptions {
  /** With the viewer's identity. */
  readonly client: Client
  /** The name for `--name`. */
  readonly name: string
  /** A new connection to the supervisor; absent where there is none: checks of processes say so. */
  readonly connectControl?: (() => Promise<ControlClient>) | undefined
}

type Connect = () => Promise<ControlClient>

/** The supervisor over a connection of its own, which ends with the work. Rejects with a StatusError when there is no connection. */
async function connected(connect: Connect): Promise<ControlClient> {
  try {
    return await connect()
  } catch (error) {
    throw new StatusError('ServiceUnavailable', messageOf(error), { cause: error })
  }
}

/** A connection for each reader, for as long as it reads. */
function statesOver(connect: Connect): ComponentStates {
  return {
    changes: async function* (signal) {
      const control = await connected(connect)
      try {
        yield* componentStates(control).changes(signal)
      } finally {
        control.close()
      }
    },
  }
}

function flagsOf({ cluster: { flags = {} } }: Lesson): string[] {
  return Object.entries(flags).flatMap(([program, values]) =>
    Object.entries(values).map(([name, value]) => `${program}.${name}=${value}`),
  )
}

function rowOf(lesson: Lesson, isBegun: boolean): LessonRow {
  const { name, title, summary, steps, ownCluster, makes } = lesson
  return {
    name,
    title,
    summary,
    ownCluster,
    isBegun,
    steps: steps.length,
    tools: toolsOfLesson(lesson),
    makes: makes.map((made) => `${made.kind} ${made.name}`),
    flags: flagsOf(lesson),
  }
}

function mayPerform({ lesson }: LessonSession, step: number): boolean {
  const one = lesson.steps[step]
  return one !== undefined && needsRequestsAlone(one)
}

/** The explanation is shown once the step is done. */
function stepRow({ session }: Tour, step: number, verdict?: Verdict): LessonStepRow {
  const { tools: _, hasAction: __, explanation, look, ...view } = session.view(step)
  const { done = false, report } = verdict ?? {}
  return {
    ...view,
    step,
    done,
    mayPerform: mayPerform(session, step),
    ...(report === undefined ? {} : { report }),
    ...(done && { explanation, ...(look === undefined ? {} : { look }) }),
  }
}

async function followStep(
  tour: Tour,
  { step, table, signal }: { step: number; table: LiveTable<LessonStepRow>; signal: AbortSignal },
): Promise<void> {
  if (tour.done.has(step)) {
    table.replace([stepRow(tour, step, { done: true, report: [] })])
    return
  }
  table.replace([stepRow(tour, step)])
  for await (const verdict of tour.session.verdicts(step, signal)) {
    if (verdict.done) tour.done.add(step)
    table.set(stepRow(tour, step, verdict))
    if (verdict.done) return
  }
}

function newTour(session: LessonSession): Tour {
  return { session, done: new Set(), performing: new Set(), ended: new AbortController() }
}

/** Rejects with a StatusError when the step is not one for the console, is being done already, or failed. */
async function performStep(
  { session, ended, performing }: Tour,
  { step, client }: { readonly step: number; readonly client: Client },
): Promise<void> {
  if (!mayPerform(session, step))
    throw new StatusError('BadRequest', 'the console cannot do this step: type its command')
  if (performing.has(step)) throw new StatusError('Conflict', 'the step is being done')
  performing.add(step)
  try {
    const { clock } = client
    const options = { session, client, clock, signal: ended.signal }
    const { failure } = await performRequests(step, options)
    if (failure.length > 0) throw new StatusError('Conflict', failure.join('\n'))
  } finally {
    performing.delete(step)
  }
}

export function createLessonTours(options: LessonToursOptions): LessonTours {
  const { client, name: cluster, connectControl } = options
  const tours = new Map<string, Tour>()
  let shipped: readonly Lesson[] | undefined
  const lessons = (): readonly Lesson[] => (shipped ??= shippedLessons().map(readLesson))
  const components = connectControl && statesOver(connectControl)
  const place = (): LessonPlace => lessonPlace({ client, name: cluster, components })
  const lessonNamed = (name: string): Lesson => {
    const lesson = lessons().find((one) => one.name === name)
    if (lesson === undefined) throw new StatusError('NotFound', `there is no lesson "${name}"`)
    return lesson
  }
  const tourAt = (name: string, step: number): Tour => {
    const tour = tours.get(name)
    if (tour === undefined) throw new StatusError('NotFound', `lesson "${name}" was not begun`)
    if (tour.session.lesson.steps[step] === undefined)
      throw new StatusError('NotFound', `lesson "${name}" has no step ${step}`)
    return tour
  }
  return {
    list: () => lessons().map((lesson) => rowOf(lesson, tours.has(lesson.name))),
    begin: async (name) => {
      const lesson = lessonNamed(name)
      if (lesson.ownCluster) {
        const message = `lesson "${name}" needs a cluster of its own: skiff lesson run ${name}`
        throw new StatusError('BadRequest', message)
      }
      if (tours.has(name)) return
      const here = place()
      const obstacle = await obstacleOf(lesson, here)
      if (obstacle !== undefined) {
        const { message, details = [] } = obstacle
        throw new StatusError('Conflict', [message, ...details].join('\n'))
      }
      // Another page may have begun it meanwhile.
      if (tours.has(name)) return
      tours.set(name, newTour(createLessonSession(lesson, here)))
    },
    answer: (name, { step, text }) => tourAt(name, step).session.answer(step, text),
    perform: async (name, step) => await performStep(tourAt(name, step), { step, client }),
    end: async (name) => {
      const { session, ended } = tourAt(name, 0)
      const control = connectControl && (await connected(connectControl))
      try {
        await deleteMade(session.lesson.makes, { place: place(), control })
      } finally {
        control?.close()
      }
      tours.delete(name)
      ended.abort(new StatusError('Gone', 'the lesson has ended'))
    },
    follow: async ({ name, step }, table, signal) => {
      const tour = tourAt(name, step)
      const either = AbortSignal.any([signal, tour.ended.signal])
      await followStep(tour, { step, table, signal: either })
    },
  }
}
