/** Limits of PriorityLevelConfigurations: shares, queues, and whether hashing can distinguish requests. */
import type {
  ExemptPriorityLevelConfiguration,
  LimitedPriorityLevelConfiguration,
  QueuingConfiguration,
} from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'

const maxQueues = 10_000_000
/** Bits of the hash that queues are dealt from. */
const maxHashBits = 60
const responseTypes = ['Queue', 'Reject']

function validateShares(
  limits: { readonly nominalConcurrencyShares?: number; readonly lendablePercent?: number },
  at: FieldPath,
): void {
  const { nominalConcurrencyShares: shares = 0, lendablePercent: lendable = 0 } = limits
  if (shares < 0) {
    at.child('nominalConcurrencyShares').invalid(shares, 'must be a non-negative integer')
  }
  if (lendable < 0 || lendable > 100) {
    at.child('lendablePercent').invalid(lendable, 'must be between 0 and 100, inclusive')
  }
}

export function validateExempt(exempt: ExemptPriorityLevelConfiguration, at: FieldPath): void {
  validateShares(exempt, at)
}

/** Bits that dealing `handSize` of `queues` uses up. */
function entropyBits(queues: number, handSize: number): number {
  let bits = 0
  for (let left = queues; left > queues - handSize; left -= 1) bits += Math.log2(left)
  return Math.ceil(bits)
}

function validateQueuing(queuing: QueuingConfiguration, at: FieldPath): void {
  const { queues = 0, handSize = 0, queueLengthLimit = 0 } = queuing
  if (queueLengthLimit <= 0)
    at.child('queueLengthLimit').invalid(queueLengthLimit, 'must be positive')
  const queuesAt = at.child('queues')
  if (queues <= 0) queuesAt.invalid(queues, 'must be positive')
  else if (queues > maxQueues) queuesAt.invalid(queues, `must not be greater than ${maxQueues}`)
  const handAt = at.child('handSize')
  if (handSize <= 0) handAt.invalid(handSize, 'must be positive')
  else if (handSize > queues) {
    handAt.invalid(handSize, `should not be greater than queues (${queues})`)
  } else if (handSize > maxHashBits || entropyBits(queues, handSize) > maxHashBits) {
    const why = `required entropy bits of deckSize ${queues} and handSize ${handSize} should not be greater than ${maxHashBits}`
    handAt.invalid(handSize, why)
  }
}

export function validateLimited(limited: LimitedPriorityLevelConfiguration, at: FieldPath): void {
  validateShares(limited, at)
  const { borrowingLimitPercent: borrowing, limitResponse } = limited
  if (borrowing !== undefined && borrowing < 0) {
    at.child('borrowingLimitPercent').invalid(
      borrowing,
      'if specified, must be a non-negative integer',
    )
  }
  const { type = '', queuing } = limitResponse ?? {}
  const responseAt = at.child('limitResponse')
  if (!responseTypes.includes(type)) responseAt.child('type').unsupported(type, responseTypes)
  else if (type === 'Reject') {
    if (queuing) {
      responseAt
        .child('queuing')
        .forbidden('must be nil if limited.limitResponse.type is not Limited')
    }
  } else if (queuing) validateQueuing(queuing, responseAt.child('queuing'))
  else {
    responseAt
      .child('queuing')
      .required('must not be empty if limited.limitResponse.type is Limited')
  }
}
