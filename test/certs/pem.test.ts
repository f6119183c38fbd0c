import { expect, test } from 'vitest'
import { decodePem } from '../../certs/pem.ts'

const block = (type: string, body: string): string =>
  `-----BEGIN ${type}-----\n${body}\n-----END ${type}-----\n`
const found = (text: string): string[] =>
  decodePem(text).map(
    ({ label, hasHeaders, der }) => `${label} ${hasHeaders} ${der.toString('hex')}`,
  )

test.each([
  ['blocks with text around them', `x\n${block('A', 'AAAA')}y\n${block('B', 'AA\nAB')}`, 2],
  ['Windows lines', block('A', 'AAAA').replaceAll('\n', '\r\n'), 1],
  ['an empty block', '-----BEGIN A-----\n-----END A-----', 1],
  ['headers', block('A', 'k: v\n\nAAAA'), 1],
  ['a block behind one that never ends', `-----BEGIN A-----\nAAAA\n${block('B', 'AAAA')}`, 1],
  ['no base64', block('A', 'AA!A'), 0],
  ['base64 that is cut off', block('A', 'AAA'), 0],
  ['another end', '-----BEGIN A-----\nAAAA\n-----END B-----\n', 0],
  ['something behind the end', '-----BEGIN A-----\nAAAA\n-----END A-----x\n', 0],
  ['no line of its own', ` ${block('A', 'AAAA')}`, 0],
  ['everything in one line', '-----BEGIN A-----AAAA-----END A-----', 0],
])('%s', (_, text, count) => {
  expect(found(text)).toHaveLength(count)
})

test('what a block holds', () => {
  expect(found(block('A B', 'k: v\n\n AQ==') + block('C', 'AQID'))).toEqual([
    'A B true 01',
    'C false 010203',
  ])
})

test('marks without number are given up on', () => {
  const ends = '\n-----END A-----x'.repeat(150_000)
  expect(found(`-----BEGIN A-----\n${ends}`)).toEqual([])
  expect(found('-----BEGIN A-----\n'.repeat(100_000) + ends)).toEqual([])
})
