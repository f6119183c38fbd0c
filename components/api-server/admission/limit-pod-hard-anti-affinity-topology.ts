/** LimitPodHardAntiAffinityTopology: required anti-affinity keeps pods off nodes alone (upstream: plugin/pkg/admission/antiaffinity). */
import { labelKey, type Dialect } from '../../api/dialect.ts'
import type { Pod } from '../../api/generated/types.ts'
import { resourcesOf } from '../../api/resources.ts'
import { forbidden } from '../../machinery/objects/status-error.ts'
import type { AdmissionPlugin } from './admission.ts'

export function limitPodHardAntiAffinityTopology(dialect: Dialect): AdmissionPlugin {
  const { pods } = resourcesOf(dialect)
  const hostname = labelKey(dialect, '', 'hostname')
  return {
    name: 'LimitPodHardAntiAffinityTopology',
    validate({ operation, resource, subresource, object }) {
      if (resource !== pods || subresource !== '' || object === undefined) return
      if (operation !== 'CREATE' && operation !== 'UPDATE') return
      const { spec, metadata } = object as Pod
      const terms = spec?.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution
      const other = terms?.find(({ topologyKey }) => topologyKey !== hostname)
      if (other === undefined) return
      const why = `affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey ${other.topologyKey} but only key ${hostname} is allowed`
      throw forbidden(pods, metadata.name ?? '', why)
    },
  }
}
