/** The admission chain: plugins in order, first all that change the draft, later all that only look. */
import type { AdmissionPlugin, AdmissionRequest } from './admission.ts'

export interface AdmissionChain {
  /** Lets every plugin change the draft. Throws a StatusError to refuse. Synchronous unless a plugin is not. */
  mutate(request: AdmissionRequest): void | Promise<void>
  /** Lets every plugin look at the final object. Throws a StatusError to refuse. */
  validate(request: AdmissionRequest): void | Promise<void>
}

type Step = (request: AdmissionRequest) => void | Promise<void>

function inOrder(steps: readonly Step[]): Step {
  async function rest(request: AdmissionRequest, start: number): Promise<void> {
    for (const step of steps.slice(start)) await step(request)
  }
  return (request) => {
    for (const [index, step] of steps.entries()) {
      const pending = step(request)
      if (pending !== undefined) return pending.then(() => rest(request, index + 1))
    }
    return undefined
  }
}

/** The plugins as one, in the order given. */
export function admissionChain(plugins: readonly AdmissionPlugin[]): AdmissionChain {
  const ofPhase = (phase: 'mutate' | 'validate'): Step[] =>
    plugins.flatMap((plugin) => {
      const step = plugin[phase]
      return step === undefined ? [] : [step.bind(plugin)]
    })
  return { mutate: inOrder(ofPhase('mutate')), validate: inOrder(ofPhase('validate')) }
}
