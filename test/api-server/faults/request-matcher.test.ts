/** The compiled matcher, against one that is as simple as the words of docs/lab.md. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { compilePatterns } from '../../../components/api-server/faults/pattern.ts'
import {
  compileMatch,
  type SeenRequest,
} from '../../../components/api-server/faults/request-matcher.ts'
import type { RequestMatch } from '../../../components/component-base/request-fault.ts'

/** Tries every way to share the text out. */
function isLike(text: string, pattern: string): boolean {
  if (pattern === '') return text === ''
  if (pattern.startsWith('*'))
    return Array.from({ length: text.length + 1 }, (_, at) => text.slice(at)).some((rest) =>
      isLike(rest, pattern.slice(1)),
    )
  return text !== '' && text[0] === pattern[0] && isLike(text.slice(1), pattern.slice(1))
}

const short = fc.string({ unit: fc.constantFrom('a', 'b', '.'), maxLength: 6 })
const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*'), maxLength: 6 })

it('a pattern matches as its naive reading does', () => {
  fc.assert(
    fc.property(short, pattern, (text, wild) => {
      expect(compilePatterns([wild])(text)).toBe(isLike(text, wild))
    }),
    { numRuns: 5000 },
  )
})

const some = (patterns: readonly string[] | undefined, text: string): boolean =>
  patterns === undefined || (text !== '' && patterns.some((one) => isLike(text, one)))

const writes = ['create', 'update', 'patch', 'delete', 'deletecollection']

function isOf(wanted: string, request: SeenRequest): boolean {
  if (!request.isResourceRequest) return false
  if (wanted === '*') return true
  const slash = wanted.indexOf('/')
  const whole = slash === -1 ? wanted : wanted.slice(0, slash)
  const below = slash === -1 ? '' : wanted.slice(slash + 1)
  const dot = whole.indexOf('.')
  const isBelow = below === '' ? request.subresource === '' : request.subresource !== ''
  return (
    isLike(request.resource, dot === -1 ? whole : whole.slice(0, dot)) &&
    (dot === -1 || isLike(request.group, whole.slice(dot + 1))) &&
    isBelow &&
    isLike(request.subresource, below)
  )
}

function naive(match: RequestMatch, request: SeenRequest): boolean {
  const { users, groups, verbs, resources, namespaces, names, userAgents } = match
  if (request.isProbe && users?.includes(request.user) !== true) return false
  return (
    some(users, request.user) &&
    (groups === undefined || request.groups.some((group) => some(groups, group))) &&
    (verbs === undefined ||
      verbs.some(
        (verb) =>
          verb === '*' ||
          verb === request.verb ||
          (verb === 'write' && writes.includes(request.verb)),
      )) &&
    (resources === undefined || resources.some((resource) => isOf(resource, request))) &&
    some(namespaces, request.namespace) &&
    some(names, request.name) &&
    some(userAgents, request.userAgent)
  )
}

const texts = fc.constantFrom('jane', 'system:node:a', 'system:node:b', 'web-1', 'web-2', 'default')
const patterns = fc.constantFrom('*', 'jane', 'system:node:*', '*-1', 'w*b-*', 'default', 'x*')
/** Most fields are left out: of many that are there, one hardly ever matches. */
const rarely = <T>(items: fc.Arbitrary<T>): fc.Arbitrary<T[] | undefined> =>
  fc.oneof(
    { weight: 4, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.array(items, { minLength: 1, maxLength: 3 }) },
  )
const lists = rarely(patterns)
const wantedResources = fc.constantFrom(
  ...['*', 'pods', 'deployments.apps', 'deployments', 'pods/status', 'pods/*', '*/status'],
  ...['*.example.com', '*.*.com', 'events.', '*.apps/*'],
)
const match = fc
  .record({
    users: lists,
    groups: lists,
    verbs: rarely(fc.constantFrom('get', 'list', 'watch', 'create', 'write', '*')),
    resources: rarely(wantedResources),
    namespaces: lists,
    names: lists,
    userAgents: lists,
  })
  .map((all) => {
    const entries = Object.entries(all).filter(([, value]) => value !== undefined)
    return Object.fromEntries(entries) as RequestMatch
  })
const request: fc.Arbitrary<SeenRequest> = fc.record({
  isResourceRequest: fc.boolean(),
  isProbe: fc.boolean(),
  verb: fc.constantFrom('get', 'list', 'watch', 'create', 'update', 'delete', 'post'),
  group: fc.constantFrom('', 'apps', 'example.com', 'events.k8s.io'),
  resource: fc.constantFrom('pods', 'deployments', 'events', 'widgets'),
  subresource: fc.constantFrom('', 'status', 'scale'),
  namespace: fc.oneof(fc.constant(''), texts),
  name: fc.oneof(fc.constant(''), texts),
  user: texts,
  groups: fc.array(texts, { maxLength: 2 }),
  userAgent: fc.oneof(fc.constant(''), texts),
})

it('a match matches as its naive reading does', () => {
  let matched = 0
  fc.assert(
    fc.property(match, request, (wanted, seen) => {
      const is = compileMatch(wanted)(seen)
      if (is) matched += 1
      expect(is).toBe(naive(wanted, seen))
    }),
    { numRuns: 5000 },
  )
  expect(matched).toBeGreaterThan(500)
})

it('a pattern of many stars is no slower than its text is long', () => {
  const slow = compilePatterns([`${'a*'.repeat(400)}b`])
  expect(slow('a'.repeat(100_000))).toBe(false)
})
