/** ExtendedResourceToleration: a pod tolerates the taints of nodes that are reserved for its extended resources (upstream: plugin/pkg/admission/extendedresourcetoleration). */
import type { Dialect } from '../../api/dialect.ts'
import type { Pod, Toleration } from '../../api/generated/types.ts'
import { isExtendedResource } from '../../api/resource-names.ts'
import { resourcesOf } from '../../api/resources.ts'
import type { AdmissionPlugin } from './admission.ts'

function isSameKind(a: Toleration, b: Toleration): boolean {
  return (
    a.key === b.key &&
    a.operator === b.operator &&
    a.effect === b.effect &&
    (a.value ?? '') === (b.value ?? '')
  )
}

/** With the toleration in place of those that differ from it in their time alone, or at the end. */
function withToleration(tolerations: readonly Toleration[], added: Toleration): Toleration[] {
  return tolerations.some((one) => isSameKind(one, added))
    ? tolerations.map((one) => (isSameKind(one, added) ? added : one))
    : [...tolerations, added]
}

export function extendedResourceToleration(dialect: Dialect): AdmissionPlugin {
  const { pods } = resourcesOf(dialect)
  return {
    name: 'ExtendedResourceToleration',
    mutate({ operation, resource, subresource, object }) {
      if (operation !== 'CREATE' && operation !== 'UPDATE') return
      const spec = (object as Pod | undefined)?.spec
      if (resource !== pods || subresource !== '' || spec === undefined) return
      const containers = [...(spec.containers ?? []), ...(spec.initContainers ?? [])]
      const names = containers
        .flatMap(({ resources }) => Object.keys(resources?.requests ?? {}))
        .filter((name) => isExtendedResource(name, dialect))
      for (const key of [...new Set(names)].toSorted()) {
        const added = { key, operator: 'Exists', effect: 'NoSchedule' }
        spec.tolerations = withToleration(spec.tolerations ?? [], added)
      }
    },
  }
}
