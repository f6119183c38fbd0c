/** runAsNonRoot: whether a container's user may be the one it asks for (upstream: kuberuntime/security_context_others.go). */
import type { Container, Pod } from '../../api/generated/types.ts'

/** Why the container must not be created; undefined when it may. The users of images are not known: they pass. */
export function nonRootFault({ metadata, spec }: Pod, container: Container): string | undefined {
  const effective = { ...spec?.securityContext, ...container.securityContext }
  if (effective.runAsNonRoot !== true || effective.runAsUser !== 0) return undefined
  const { name, namespace, uid } = metadata
  return (
    `container's runAsUser breaks non-root policy ` +
    `(pod: "${name}_${namespace}(${uid})", container: ${container.name})`
  )
}
