/** Which backend a new connection gets, and what the backends file may hold. */
import { expect, test } from 'vitest'
import { Backend } from '../../components/load-balancer/backend.ts'
import { BackendSet } from '../../components/load-balancer/backend-set.ts'
import { parseBackends } from '../../components/load-balancer/backends-file.ts'
import { formatEndpoint, parseEndpoint } from '../../components/load-balancer/endpoint.ts'

const thresholds = { healthy: 2, unhealthy: 3 }
const three = parseBackends('127.0.0.1:1\n127.0.0.1:2\n127.0.0.1:3\n')

function readySet(): BackendSet {
  const set = new BackendSet(thresholds)
  for (const backend of set.replace(three).added) backend.checked(true)
  return set
}

test('the first check decides alone; after that as many in a row as the thresholds say', () => {
  const backend = new Backend({ host: '127.0.0.1', port: 1 }, thresholds)
  expect(backend.isReady).toBe(false)
  const results = [true, false, false, true, false, false, false, true, false, true, true]
  const states = results.map((result) => {
    backend.checked(result)
    return backend.isReady
  })
  expect(states).toEqual([
    ...[true, true, true, true, true, true, false],
    ...[false, false, false, true],
  ])
})

test('a new connection goes to the ready backend with the fewest connections', () => {
  const set = readySet()
  const [one, two, three] = set.all
  Object.assign(one ?? {}, { connections: 2 })
  Object.assign(two ?? {}, { connections: 1 })
  Object.assign(three ?? {}, { connections: 2 })
  expect(set.choose(new Set())?.name).toBe('127.0.0.1:2')
  for (let left = 3; left > 0; left -= 1) two?.checked(false)
  expect(set.choose(new Set())?.name).not.toBe('127.0.0.1:2')
})

test('backends with equally many connections take turns', () => {
  const set = readySet()
  const names = Array.from({ length: 6 }, () => set.choose(new Set())?.name)
  expect(new Set(names.slice(0, 3)).size).toBe(3)
  expect(names.slice(3)).toEqual(names.slice(0, 3))
})

test('those that are not ready are tried when no ready one is left, and each only once', () => {
  const set = readySet()
  const [one] = set.all
  for (let left = 3; left > 0; left -= 1) one?.checked(false)
  const tried = new Set<Backend>()
  const order: string[] = []
  for (let next = set.choose(tried); next !== undefined; next = set.choose(tried)) {
    tried.add(next)
    order.push(next.name)
  }
  expect(order).toHaveLength(3)
  expect(order[2]).toBe('127.0.0.1:1')
})

test('a changed file keeps the state of the backends that stay', () => {
  const set = readySet()
  const [, two] = set.all
  const { added, removed } = set.replace(parseBackends('127.0.0.1:2\n127.0.0.1:9'))
  expect(added.map(({ name }) => name)).toEqual(['127.0.0.1:9'])
  expect(removed.map(({ name }) => name)).toEqual(['127.0.0.1:1', '127.0.0.1:3'])
  expect(set.all[0]).toBe(two)
  expect(set.all.map(({ isReady }) => isReady)).toEqual([true, false])
})

test('a backends file has an address a line, with comments; anything else names the line', () => {
  const text =
    '# servers\n10.0.0.1:6443 # first\n\n[fd00::1]:6443\napi.example:443\n10.0.0.1:6443\n'
  expect(parseBackends(text).map(formatEndpoint)).toEqual([
    '10.0.0.1:6443',
    '[fd00::1]:6443',
    'api.example:443',
  ])
  const lines = ['10.0.0.1', 'https://10.0.0.1:6443', '10.0.0.1:0', '10.0.0.1:65536', 'a b:1']
  for (const line of lines) {
    expect(() => parseBackends(`127.0.0.1:1\n${line}`)).toThrow(
      `line 2: "${line}" is not HOST:PORT`,
    )
  }
  expect(() => parseBackends('# none\n')).toThrow('there is no backend')
  const many = Array.from({ length: 101 }, (_, index) => `10.0.0.1:${index + 1}`).join('\n')
  expect(() => parseBackends(many)).toThrow('there are 101 backends: at most 100 are allowed')
  expect(parseEndpoint('127.0.0.1:0')).toEqual({ host: '127.0.0.1', port: 0 })
})
