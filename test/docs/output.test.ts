/** Tolerance: two runs of the same command are the same, two different outcomes are not. */
import { expect, test } from 'vitest'
import { fits, normalLines } from './output.ts'

const areSame = (shown: string, printed: string, home?: string): boolean =>
  fits(normalLines(shown), normalLines(printed, home))

test('durations, ports, ages, random names, addresses and the order of progress do not matter', () => {
  expect(
    areSame(
      ' ✓ node-1   978 ms  Ready\n ✓ node-2  1.1 s  Ready',
      '✓ node-2 9 ms Ready\n✓ node-1 1.21 s Ready',
    ),
  ).toBe(true)
  expect(
    areSame(
      'is Ready after 1.1 s: https://127.0.0.1:6443',
      'is Ready after 60 ms: https://127.0.0.1:39729',
    ),
  ).toBe(true)
  expect(
    areSame(
      'web-5c594486f6-8khr7  1/1  0  2s  10.1.2.3',
      'web-7f594486f6-abcde 1/1 0  1m3s  10.9.9.9',
    ),
  ).toBe(true)
  expect(
    areSame('csr-rx87g  1s  system:bootstrap:q3qoqy', 'csr-aaaaa  9s  system:bootstrap:zzzzzz'),
  ).toBe(true)
  expect(areSame('KUBECONFIG=~/.local/x', 'KUBECONFIG=/tmp/abc/.local/x', '/tmp/abc')).toBe(true)
  expect(areSame('pid 7', 'pid 12345')).toBe(true)
  expect(areSame('since 2026-11-22T10:00:00Z', 'since 2031-01-02T03:04:05.678Z')).toBe(true)
})

test('a line of three dots stands for any number of lines', () => {
  expect(areSame('one\n...\nfour', 'one\ntwo\nthree\nfour')).toBe(true)
  expect(areSame('one\n...\nfour', 'one\nfour')).toBe(true)
  expect(areSame('one\n...\nfour', 'one\ntwo\nthree')).toBe(false)
})

test('other words, numbers, states, names and missing or further lines do matter', () => {
  expect(areSame('node-1 Ready', 'node-1 NotReady')).toBe(false)
  expect(areSame('✓ node-1 9 ms Ready', '✗ node-1 9 ms Ready')).toBe(false)
  expect(areSame('web-5c594486f6-8khr7 1/1 Running', 'web-5c594486f6-8khr7 0/1 Running')).toBe(
    false,
  )
  expect(areSame('web-5c594486f6-8khr7 1/1 Running', 'other-5c594486f6-8khr7 1/1 Running')).toBe(
    false,
  )
  expect(areSame('1 passed, 0 failed, 3.30 s', '0 passed, 1 failed, 3.30 s')).toBe(false)
  expect(areSame('one\ntwo', 'one')).toBe(false)
  expect(areSame('one', 'one\ntwo')).toBe(false)
  expect(areSame('one\ntwo', 'two\none')).toBe(false)
})
