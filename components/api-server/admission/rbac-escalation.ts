/**
 * Escalation prevention as the last check of a write (upstream: pkg/registry/rbac/clusterrole/policybased and its siblings). No
 * flag disables it.
 */
import type { CheckEscalation } from '../authz/escalation.ts'
import type { AdmissionPlugin } from './admission.ts'

export function rbacEscalation(check: CheckEscalation): AdmissionPlugin {
  return {
    name: 'RBACEscalation',
    validate({ operation, object, ...request }) {
      const isWritten = operation === 'CREATE' || operation === 'UPDATE'
      return isWritten && object !== undefined ? check({ ...request, object }) : undefined
    },
  }
}
