/** Quantities as validators need them: texts of decoded objects, which the decoder has found well-formed. */
import {
  canonicalQuantity,
  compareQuantities,
  formatQuantity,
  parseQuantity,
} from '../../../machinery/values/quantity.ts'

/** Below, at or above 0 as `a` is smaller than, equal to or larger than `b`. */
export function compareAmounts(a: string, b: string): number {
  return a === b ? 0 : compareQuantities(a, b)
}

export function isNegativeQuantity(text: string): boolean {
  return text.startsWith('-') && compareQuantities(text, '0') < 0
}

export function isZeroQuantity(text: string): boolean {
  return text === '0' || compareQuantities(text, '0') === 0
}

const plainWhole = /^[0-9]+(?:[kMGTPE]|[KMGTPE]i)?$/
const nanosPerUnit = 1_000_000_000n

/** No fraction of a unit: counts and bytes must be whole. */
export function isWholeQuantity(text: string): boolean {
  return plainWhole.test(text) || parseQuantity(text).nanos % nanosPerUnit === 0n
}

const nanosPerMilli = 1_000_000n

/** Amounts of resources have no parts below a thousandth: they are rounded up, in place (upstream: SetDefaults_ResourceList). */
export function roundUpAmounts(amounts: Record<string, string> | undefined): void {
  for (const name in amounts) {
    const text = amounts[name] ?? ''
    if (!/[nu]$|e-/.test(text)) continue
    const { nanos, format } = parseQuantity(text)
    const rest = nanos % nanosPerMilli
    // A status update shares what is stored, which an earlier release may not have rounded.
    if (rest === 0n || Object.isFrozen(amounts)) continue
    const more = rest > 0n ? nanosPerMilli : -nanosPerMilli
    amounts[name] = formatQuantity({ nanos: nanos - rest + more, format })
  }
}

/** The canonical text, as messages show it. */
export function shownQuantity(text: string): string {
  return canonicalQuantity(text)
}
