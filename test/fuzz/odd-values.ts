/** Values that programs stumble over: names that objects inherit, numbers at the edges, texts that are no texts. */
import type { Random } from './random.ts'

export const oddNames: readonly string[] = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'valueOf',
  'length',
  'then',
  '0',
  '-',
  '',
  '$patch',
  '$retainKeys',
  '$setElementOrder/containers',
  '$deleteFromPrimitiveList/finalizers',
]

const texts: readonly string[] = [
  ...oddNames,
  'a',
  'default',
  'kube-system',
  'A',
  'a.b',
  '-a',
  'a/b',
  'a/b/c',
  '..',
  ' ',
  '\u0000',
  '\n',
  '\ud800',
  '\u{1F600}',
  '\u202e',
  'ä',
  'null',
  'true',
  '1',
  '-1',
  '1e999',
  '0x10',
  '1Gi',
  '1.5e-400Ki',
  '9999999999999999999999',
  '2025-01-01T00:00:00Z',
  '2025-13-41T99:99:99Z',
  '0000-01-01T00:00:00Z',
  '2001:db8::1',
  '::ffff:1.2.3.4',
  '999.1.1.1',
  '10.0.0.0/8',
  '10.0.0.0/99',
  'https://[::1',
  '%',
  '%zz',
  '{{',
  "';--",
  '(',
  '[a-',
  '(a+)+$',
  'x'.repeat(300),
  'a-'.repeat(5000),
  '1'.repeat(5000),
  'YQ==',
  'YQ=',
  '50%',
  '-50%',
  '101%',
]

const numbers: readonly number[] = [
  0,
  -0,
  1,
  -1,
  0.5,
  1e-320,
  127,
  65535,
  65536,
  2 ** 31 - 1,
  2 ** 31,
  -(2 ** 31) - 1,
  2 ** 53,
  2 ** 63,
  2 ** 64,
  -(2 ** 63),
  1e21,
  1e308,
]

export function oddText(random: Random): string {
  return random.pick(texts)
}

export function oddNumber(random: Random): number {
  return random.pick(numbers)
}

/** Any JSON value, mostly small. */
export function oddJson(random: Random, depth = 3): unknown {
  const roll = random.int(depth <= 0 ? 5 : 7)
  if (roll === 0) return null
  if (roll === 1) return random.chance(0.5)
  if (roll === 2) return oddNumber(random)
  if (roll <= 4) return oddText(random)
  if (roll === 5) return random.many(3, () => oddJson(random, depth - 1))
  return Object.fromEntries(
    random.many(3, () => [oddText(random), oddJson(random, depth - 1)] as const),
  )
}
