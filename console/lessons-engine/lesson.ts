/** Lesson: a guided tour through a cluster, in a YAML file. Errors name file, line and path. */
import { basename } from 'node:path'
import { checkFile, readText } from '../../scenarios/engine/checked-file.ts'
import { clusterShape, stepsShape } from '../../scenarios/engine/scenario.ts'
import {
  anything,
  boolean,
  described,
  list,
  object,
  optional,
  record,
  string,
} from '../../cluster/shape.ts'
import type { Shape, ShapeType } from '../../cluster/shape.ts'
import { checkShape } from './check.ts'

export const lessonStepShape = object({
  heading: described('What the step is about, in a few words.', string),
  text: described('What to know and what to do, in Markdown.', string),
  command: described('The command line to type: sh, with kubectl or skiff.', string),
  background: described(
    '`true`: the command goes on while the next steps are taken.',
    optional(boolean),
  ),
  action: described(
    'Does the same as the command without kubectl: steps of a scenario.',
    optional(stepsShape),
  ),
  check: described('How the lesson sees that the step is done.', checkShape),
  hint: described(
    'Shown on request, and when the step is not done after a while.',
    optional(string),
  ),
  explanation: described('What happened, in Markdown; shown when the step is done.', string),
  look: described('A command line that shows the result.', optional(string)),
})

export type LessonStep = ShapeType<typeof lessonStepShape>

/** At least one step: a lesson without any would be finished before it begins. */
const lessonSteps: Shape<LessonStep[]> = (() => {
  const steps = list(lessonStepShape)
  return {
    ...steps,
    schema: { ...steps.schema, minItems: 1 },
    check: (value, path, issues) => {
      const checked = steps.check(value, path, issues)
      if (Array.isArray(value) && value.length === 0) issues.push({ path, message: 'has no step' })
      return checked
    },
  }
})()

const madeShape = object({
  kind: described('The kind, its plural or a short name.', string),
  apiVersion: described('Only needed for a kind of several groups.', optional(string)),
  name: described('Its name.', string),
  namespace: described('Default: `default`.', optional(string)),
})

/** An object that a lesson makes. */
export type MadeObject = ShapeType<typeof madeShape>

export const lessonShape = object({
  title: described('The name of the lesson for people.', string),
  summary: described('What one learns; `skiff lesson list` prints it.', string),
  cluster: described('The cluster that the lesson needs.', optional(clusterShape)),
  ownCluster: described(
    '`true`: the lesson changes what a cluster needs, so it never uses a running one.',
    optional(boolean),
  ),
  makes: described(
    'Objects that the lesson makes. On a running cluster they must not exist before, and are deleted afterwards, in this order.',
    optional(list(madeShape)),
  ),
  variables: described('Values for `${name}` in steps.', optional(record(anything))),
  steps: described('The steps, in order.', lessonSteps),
})

export interface Lesson {
  /** The file's name without `.yaml`. */
  readonly name: string
  readonly file: string
  readonly title: string
  readonly summary: string
  readonly cluster: ShapeType<typeof clusterShape>
  readonly ownCluster: boolean
  readonly makes: readonly MadeObject[]
  readonly variables: Readonly<Record<string, unknown>>
  readonly steps: readonly LessonStep[]
}

/** An invalid lesson file; one line per fault, each with file, line and path. */
export class LessonError extends Error {
  readonly faults: readonly string[]
  constructor(faults: readonly string[], cause?: unknown) {
    super(faults.join('\n'), cause === undefined ? undefined : { cause })
    this.name = 'LessonError'
    this.faults = faults
  }
}

/** Reads a lesson from text. Throws a LessonError. */
export function parseLesson(text: string, file: string): Lesson {
  const variablesIn = ['steps', 'variables']
  const { value, faults, cause } = checkFile(lessonShape, { text, file, variablesIn })
  if (value === undefined) throw new LessonError(faults, cause)
  return {
    name: basename(file).replace(/\.ya?ml$/, ''),
    file,
    title: value.title.trim(),
    summary: value.summary.replaceAll(/\s+/g, ' ').trim(),
    cluster: value.cluster ?? {},
    ownCluster: value.ownCluster ?? false,
    makes: value.makes ?? [],
    variables: value.variables ?? {},
    steps: value.steps,
  }
}

/** Reads a lesson file. Throws a LessonError for an invalid or unreadable file. */
export function readLesson(file: string): Lesson {
  const { text, fault, cause } = readText(file)
  if (text === undefined) throw new LessonError([fault], cause)
  return parseLesson(text, file)
}
