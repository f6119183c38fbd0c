/** Seccomp: which profile applies to a container (a privileged one is never confined). */
import type { Container, Pod, SeccompProfile } from '../../api/generated/types.ts'

/** The container's own setting beats the pod's; undefined when neither says anything. */
export function seccompProfileOf(pod: Pod, container: Container): SeccompProfile | undefined {
  const own = container.securityContext
  if (own?.privileged === true) return { type: 'Unconfined' }
  return own?.seccompProfile ?? pod.spec?.securityContext?.seccompProfile
}
