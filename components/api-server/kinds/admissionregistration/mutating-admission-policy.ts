/** MutatingAdmissionPolicy, an alpha kind: its defaults alone. */
import type { Strategy } from '../strategy.ts'
import { defaultPolicy } from './admission-rules.ts'

export const mutatingAdmissionPolicyStrategy: Strategy = {
  hasGeneration: true,
  allowUnconditionalUpdate: false,
  applyDefaults: defaultPolicy,
}
