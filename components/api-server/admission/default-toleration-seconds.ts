/**
 * DefaultTolerationSeconds: pods stay five minutes on a node that is not ready or unreachable, unless they have tolerations for
 * it (upstream: plugin/pkg/admission/defaulttolerationseconds).
 */
import type { Dialect } from '../../api/dialect.ts'
import { labelKey } from '../../api/dialect.ts'
import type { Pod, Toleration } from '../../api/generated/types.ts'
import { resourcesOf } from '../../api/resources.ts'
import type { AdmissionPlugin } from './admission.ts'

const DEFAULT_SECONDS = 300

export function defaultTolerationSeconds(dialect: Dialect): AdmissionPlugin {
  const { pods } = resourcesOf(dialect)
  const taints = ['not-ready', 'unreachable'].map((name) => labelKey(dialect, 'node', name))

  const tolerates = ({ key, effect }: Toleration, taint: string): boolean =>
    (!key || key === taint) && (!effect || effect === 'NoExecute')

  return {
    name: 'DefaultTolerationSeconds',
    mutate({ operation, resource, subresource, object }) {
      const isWritten = operation === 'CREATE' || operation === 'UPDATE'
      const spec = (object as Pod | undefined)?.spec
      if (!isWritten || resource !== pods || subresource !== '' || spec === undefined) return
      const given = spec.tolerations ?? []
      const missing = taints.filter((taint) => !given.some((one) => tolerates(one, taint)))
      if (missing.length === 0) return
      const added = missing.map((key) => ({
        key,
        operator: 'Exists',
        effect: 'NoExecute',
        tolerationSeconds: DEFAULT_SECONDS,
      }))
      spec.tolerations = [...given, ...added]
    },
  }
}
