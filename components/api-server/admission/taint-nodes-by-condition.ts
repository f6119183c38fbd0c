/** TaintNodesByCondition: a new Node gets no pods until it is ready (upstream: plugin/pkg/admission/nodetaint). */
import type { Dialect } from '../../api/dialect.ts'
import { labelKey } from '../../api/dialect.ts'
import type { Node } from '../../api/generated/types.ts'
import { resourcesOf } from '../../api/resources.ts'
import type { AdmissionPlugin } from './admission.ts'

export function taintNodesByCondition(dialect: Dialect): AdmissionPlugin {
  const { nodes } = resourcesOf(dialect)
  const taint = { key: labelKey(dialect, 'node', 'not-ready'), effect: 'NoSchedule' }
  return {
    name: 'TaintNodesByCondition',
    mutate({ operation, resource, subresource, object }) {
      if (operation !== 'CREATE' || resource !== nodes || subresource !== '' || !object) return
      const node = object as Node
      const taints = node.spec?.taints ?? []
      if (taints.some(({ key, effect }) => key === taint.key && effect === taint.effect)) return
      node.spec = { ...node.spec, taints: [...taints, { ...taint }] }
    },
  }
}
