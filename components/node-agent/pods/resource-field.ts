/** Resource fields: `limits.cpu` and the like of a container, as an environment shows them (upstream: pkg/api/v1/resource/helpers.go). */
import type { Container, Pod, ResourceFieldSelector } from '../../api/generated/types.ts'
import { quantityMilliValue, quantityValue } from '../../machinery/values/quantity.ts'

/** A limit that is not set is what the node has to give. */
const limitedByNode = new Set(['cpu', 'memory', 'ephemeral-storage'])

const isSet = (quantity: string | undefined): quantity is string =>
  quantity !== undefined && quantityMilliValue(quantity) !== 0

/** The amount in units of the divisor, rounded up. Throws an Error in upstream's words. */
export function resourceFieldValue(
  { resource, divisor, containerName = '' }: ResourceFieldSelector,
  of: {
    readonly pod: Pod
    readonly container: Container
    readonly allocatable: Readonly<Record<string, string>>
  },
): string {
  const { containers = [], initContainers = [] } = of.pod.spec ?? {}
  const container =
    containerName === ''
      ? of.container
      : [...containers, ...initContainers].find(({ name }) => name === containerName)
  if (container === undefined) throw new Error(`container ${containerName} not found`)
  const [, list, name = ''] =
    /^(limits|requests)\.(cpu|memory|ephemeral-storage|hugepages-.+)$/.exec(resource) ?? []
  if (list !== 'limits' && list !== 'requests') {
    throw new Error(`unsupported container resource : ${resource}`)
  }
  const own = container.resources?.[list]?.[name]
  const isNodes = list === 'limits' && !isSet(own) && limitedByNode.has(name)
  const quantity = (isNodes ? of.allocatable[name] : own) ?? '0'
  const valueOf = name === 'cpu' ? quantityMilliValue : quantityValue
  return String(Math.ceil(valueOf(quantity) / valueOf(isSet(divisor) ? divisor : '1')))
}
