/** What the validators of a Pod's parts need to know besides the part. */
import type { Dialect } from '../../../../api/dialect.ts'
import type { Volume } from '../../../../api/generated/types.ts'

export interface PodRules {
  readonly dialect: Dialect
  /** A real Pod, not the template of one. */
  readonly isPod: boolean
  /** The Pod's name, when it is a real one. */
  readonly podName?: string
}

/** What the containers of one Pod are checked against. */
export interface ContainerSurroundings {
  readonly rules: PodRules
  /** The valid volumes by name. */
  readonly volumes: ReadonlyMap<string, Volume>
  /** Names of the Pod's claims of devices. */
  readonly claims: ReadonlySet<string>
  /** The Pod's own, 0 when it is missing. */
  readonly gracePeriodSeconds: number
  readonly podRestartPolicy: string | undefined
}
