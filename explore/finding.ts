/** Finding: what is wrong with a run, judged against the reference. */
import { brief } from '../components/machinery/objects/differences.ts'
import type { StateDifference } from './end-state.ts'

export type Finding =
  | (StateDifference & { readonly step: number })
  /** The controller never came to rest. */
  | {
      readonly kind: 'never-rests'
      readonly step: number
      readonly writes: number
      readonly seconds: number
    }
  /** It ended by itself again and again. */
  | {
      readonly kind: 'ends'
      readonly step: number
      readonly how: string
      readonly output: readonly string[]
    }
  /** It sent no request. */
  | {
      readonly kind: 'silent'
      readonly step: number
      readonly seconds: number
      readonly output: readonly string[]
    }
  | { readonly kind: 'writes-output'; readonly step: number; readonly megabytes: number }
  /** A step of the story failed. */
  | { readonly kind: 'step'; readonly step: number; readonly message: string }

const shown = (value: unknown): string => brief(value, 60).replaceAll(/\s+/g, ' ')

/** One line. */
export function describeFinding(finding: Finding): string {
  const where = finding.step === 0 ? 'before the first step' : `after step ${finding.step}`
  switch (finding.kind) {
    case 'missing':
      return `${where}: ${finding.object} is missing`
    case 'left-behind':
      return `${where}: ${finding.object} is left behind`
    case 'made-twice':
      return `${where}: ${finding.object.replace(/ #\d+$/, '')} was made twice`
    case 'differs':
      return `${where}: ${finding.object}: ${finding.path ?? ''} is ${shown(finding.actual)}, not ${shown(finding.expected)}`
    case 'never-rests':
      return `${where}: the controller never comes to rest: ${finding.writes} writes in ${finding.seconds} s`
    case 'ends':
      return `${where}: the controller ${finding.how}, again and again`
    case 'silent':
      return `${where}: the controller sent no request within ${finding.seconds} s`
    case 'writes-output':
      return `${where}: the controller wrote more than ${finding.megabytes} MB to its output`
    case 'step':
      return `step ${finding.step} failed: ${finding.message}`
  }
}

/** What two findings have to share to be the same bug: shrinking must not wander to another one. */
export function kindOf(finding: Finding): string {
  return 'object' in finding ? `${finding.kind} ${finding.object}` : finding.kind
}
