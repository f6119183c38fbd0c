/**
 * What page and console say to each other about lessons. Over HTTP: `GET /lessons/`, `POST /lessons/NAME/begin`, `/answer`, `/perform` and `/end`; errors are
 * Statuses. The verdicts of a step come over the WebSocket, as a table of one row.
 */

/** `GET /lessons/`: a lesson that ships with Skiff. */
export interface LessonRow {
  readonly name: string
  readonly title: string
  /** Markdown. */
  readonly summary: string
  readonly steps: number
  /** Programs that its commands need. */
  readonly tools: readonly string[]
  /** It never uses a running cluster. */
  readonly ownCluster: boolean
  /** `Deployment default/web`. */
  readonly makes: readonly string[]
  /** The cluster that it was written for, as `--set` takes it; steps may take longer on others. */
  readonly flags: readonly string[]
  readonly isBegun: boolean
}

/** Follows a step of a lesson that was begun, from 0. */
export interface LessonStepSubscription {
  readonly name: string
  readonly step: number
}

/** A step with the values of earlier steps filled in, and what its check sees. */
export interface LessonStepRow {
  readonly step: number
  readonly heading: string
  /** Markdown. */
  readonly text: string
  readonly command: string
  readonly question?: string
  /** The console can do it with the viewer's rights. */
  readonly mayPerform: boolean
  /** Markdown. */
  readonly hint?: string
  /** Once seen done, a step stays so. */
  readonly done: boolean
  /** What is not as it should be; absent until the check has looked. */
  readonly report?: readonly string[]
  /** Markdown; of a step that is done. */
  readonly explanation?: string
  /** A command that shows the result; of a step that is done. */
  readonly look?: string
}

/** Body of `POST /lessons/NAME/perform`. */
export interface LessonPerform {
  readonly step: number
}

/** Body of `POST /lessons/NAME/answer`. */
export interface LessonAnswer {
  readonly step: number
  readonly text: string
}
