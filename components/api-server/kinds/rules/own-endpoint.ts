/** The endpoint of the server's own Service, the one that may be a loopback address (docs/decisions/0004). */
import type { KubeObject } from '../../../machinery/objects/object.ts'
import { isLoopback, validateNonSpecialIp } from '../../../machinery/validation/ip-address.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import type { StrategyContext } from '../strategy.ts'

/** The rule for an endpoint's address in this object: upstream's, but for the server's own on the machine of its clients. */
export function endpointAddressRule(
  { metadata }: Pick<KubeObject, 'metadata'>,
  { dialect }: Pick<StrategyContext, 'dialect'>,
): (address: string, at: FieldPath) => void {
  const { namespace, name = '' } = metadata
  // Of several servers that share an address each has a port, and a slice of its own.
  const [stem, port] = [dialect.apiServerService, name.slice(dialect.apiServerService.length)]
  const isOwn = namespace === 'default' && name.startsWith(stem) && /^(-\d+)?$/.test(port)
  if (!isOwn) return validateNonSpecialIp
  return (address, at) => {
    if (!isLoopback(address)) validateNonSpecialIp(address, at)
  }
}
