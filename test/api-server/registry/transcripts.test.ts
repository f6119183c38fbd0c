/**
 * Answers of a real 1.20 server, replayed in their order. What release 1.32 answers differently stands in one table with the
 * release that changed it; everything else must be the same, word for word.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApiServer, type TestApiServer } from '../../support/api-server.ts'

interface Exchange {
  readonly title: string
  readonly request: {
    readonly method: string
    readonly path: string
    readonly body?: unknown
    readonly contentType?: string
    readonly accept?: string
    readonly anonymous?: boolean
  }
  readonly response: {
    readonly status: number
    readonly contentType: string
    readonly body: unknown
  }
}

// oxlint-disable-next-line typescript/no-explicit-any -- recorded answers of every kind
type Body = any

const exchanges = readFileSync(
  join(import.meta.dirname, '../../cases/transcripts-1.20.jsonl'),
  'utf8',
)
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as Exchange)

const deployment = {
  metadata: { name: 'd' },
  spec: {
    selector: { matchLabels: { a: 'b' } },
    template: {
      metadata: { labels: { a: 'b' } },
      spec: { containers: [{ name: 'c', image: 'i' }] },
    },
  },
}
const roleBinding = {
  metadata: { name: 'b' },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'r' },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'u' }],
}

/** Requests of the recorded session whose answers were not kept, by the title of the next one that was. */
const unrecorded: Record<string, readonly [method: string, path: string, body?: unknown]> = {
  'pod bound twice': [
    'POST',
    '/api/v1/namespaces/t1/pods/p/binding',
    { metadata: { name: 'p' }, target: { kind: 'Node', name: 'n1' } },
  ],
  'scale get': ['POST', '/apis/apps/v1/namespaces/t1/deployments', deployment],
  'roleRef immutable': [
    'POST',
    '/apis/rbac.authorization.k8s.io/v1/namespaces/t1/rolebindings',
    roleBinding,
  ],
  'add finalizer while terminating': ['DELETE', '/api/v1/namespaces/t1/configmaps/f1'],
  'create in terminating namespace': ['DELETE', '/api/v1/namespaces/t1'],
}

interface Difference {
  /** The release since which the answer is another, or why it is not the same here. */
  readonly since: string
  readonly why: string
  readonly status?: number
  /** `Warning` headers; release 1.20 had none in these answers. */
  readonly warnings?: readonly string[]
  /** The answer to expect instead, made of the recorded one; `actual` for parts that are free. */
  expected(recorded: Body, actual: Body): unknown
}

const message =
  (text: string): Difference['expected'] =>
  (recorded: Body) => ({ ...recorded, message: text })

/** Since 1.21; and since 1.22 nobody owns the status of what he creates. */
const labelled =
  (name: string): Difference['expected'] =>
  (recorded: Body) => {
    const key = 'kubernetes.io/metadata.name'
    const [entry] = recorded.metadata.managedFields
    const fieldsV1 = { 'f:metadata': { 'f:labels': { '.': {}, [`f:${key}`]: {} } } }
    const managedFields = [{ ...entry, fieldsV1 }]
    return {
      ...recorded,
      metadata: { ...recorded.metadata, labels: { [key]: name }, managedFields },
    }
  }

const sameStart = (recorded: string, actual: string): string => {
  const first = recorded.split('\n').slice(0, 3).join('\n')
  expect(actual.startsWith(`${first}\n[+]poststarthook/`)).toBe(true)
  expect(actual.endsWith('\nhealthz check passed\n')).toBe(true)
  return actual
}

const podUpdate: Difference = {
  since: '1.22',
  why: 'a negative grace period may be set to 1; the list of changes below is our own rendering',
  expected: (recorded, actual) => {
    const [start = ''] = actual.message.split('\n')
    expect(start).toBe(
      'Pod "p" is invalid: spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,' +
        '`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing ' +
        'tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)',
    )
    const details = {
      ...recorded.details,
      causes: [{ ...recorded.details.causes[0], message: actual.details.causes[0].message }],
    }
    return { ...recorded, message: actual.message, details }
  },
}

const differences: Record<string, Difference> = {
  'create a namespace': {
    since: '1.21',
    why: 'namespaces are labelled with their name',
    expected: labelled('t1'),
  },
  'metadata only': {
    since: '1.21',
    why: 'namespaces are labelled with their name',
    expected: labelled('default'),
  },
  'wrong type': {
    since: '1.23',
    why: 'another JSON decoder',
    expected: message(
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ConfigMap.data of type string',
    ),
  },
  'wrong type deep': {
    since: '1.23',
    why: 'another JSON decoder',
    expected: message(
      'Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type []v1.Container',
    ),
  },
  'secret data not base64': {
    since: '1.23',
    why: 'another JSON decoder',
    expected: message(
      'Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte 0',
    ),
  },
  'not acceptable': {
    since: '1.25',
    why: 'another version of the router names the types',
    expected: (recorded, actual) => {
      expect(actual.message).toMatch(
        /^406: Not Acceptable\n\nAvailable representations: application\/json, application\/yaml/,
      )
      return { ...recorded, message: actual.message }
    },
  },
  'list bad version': {
    since: 'here',
    why: "a client's fault is not answered as an error of the server",
    status: 400,
    expected: (recorded) => ({ ...recorded, reason: 'BadRequest', code: 400 }),
  },
  'pod immutable field': podUpdate,
  'pod spec changed': podUpdate,
  service: {
    since: '1.23',
    why: 'address families and internal traffic policy are always set; a selector is one value; the address is random',
    expected: (recorded, actual) => {
      const { clusterIP } = actual.spec
      expect(clusterIP).toMatch(/^10\.96\.\d+\.\d+$/)
      const more = {
        clusterIP,
        clusterIPs: [clusterIP],
        internalTrafficPolicy: 'Cluster',
        ipFamilies: ['IPv4'],
        ipFamilyPolicy: 'SingleStack',
      }
      const [entry] = recorded.metadata.managedFields
      const fields = { 'f:internalTrafficPolicy': {}, 'f:selector': {} }
      const fieldsV1 = { 'f:spec': { ...entry.fieldsV1['f:spec'], ...fields } }
      const metadata = { ...recorded.metadata, managedFields: [{ ...entry, fieldsV1 }] }
      return { ...recorded, metadata, spec: { ...recorded.spec, ...more } }
    },
  },
  'self rules review': {
    since: '1.28',
    why: 'everybody may ask who they are; bindings come in no particular order',
    expected: (recorded, actual) => {
      const sorted = (rules: readonly unknown[]): string[] =>
        rules.map((rule) => JSON.stringify(sortKeys(rule))).sort()
      const { resourceRules, nonResourceRules } = actual.status
      const selfReview = {
        verbs: ['create'],
        apiGroups: ['authentication.k8s.io'],
        resources: ['selfsubjectreviews'],
      }
      expect(sorted(nonResourceRules)).toEqual(sorted(recorded.status.nonResourceRules))
      expect(sorted(resourceRules)).toEqual(sorted([...recorded.status.resourceRules, selfReview]))
      return { ...recorded, status: actual.status }
    },
  },
  'anonymous version': {
    since: 'here',
    why: 'another release of another program',
    expected: (recorded, actual) => {
      expect(Object.keys(actual).sort()).toEqual(Object.keys(recorded).sort())
      return { ...actual, major: '1', minor: '32' }
    },
  },
  'healthz verbose': {
    since: 'here',
    why: 'other start hooks',
    expected: sameStart,
  },
  'livez exclude': {
    since: 'here',
    why: 'other start hooks, and the last line is the same on all three endpoints',
    expected: sameStart,
  },
  'readyz unknown check': {
    since: 'here',
    why: 'other groups and start hooks; upstream lists those of its innermost server only',
    expected: (_, actual) => {
      expect(Object.keys(actual)).toEqual(['paths'])
      expect(actual.paths).toEqual(
        expect.arrayContaining(['/apis', '/healthz', '/livez/ping', '/readyz', '/version']),
      )
      return actual
    },
  },
  'table with metadata none': {
    since: 'here',
    why: 'column descriptions are our own, and the age is what it is',
    expected: (recorded, actual) => ({
      ...recorded,
      columnDefinitions: recorded.columnDefinitions.map((column: Body, index: number) => ({
        ...column,
        description: actual.columnDefinitions[index].description,
      })),
      rows: [{ ...recorded.rows[0], cells: ['default', 'Active', actual.rows[0].cells[2]] }],
    }),
  },
}

const varying = new Set([
  'uid',
  'resourceVersion',
  'creationTimestamp',
  'deletionTimestamp',
  // Of an entry of managedFields.
  'time',
])
const uuid = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, child]) => [name, sortKeys(child)]),
  )
}

/** The value with what differs from run to run replaced by its name. */
function settled(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(settled)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, child]) => {
      if (varying.has(name)) return [name, `<${name}>`]
      if (name === 'message' && typeof child === 'string') {
        return [name, child.replaceAll(uuid, '<uid>')]
      }
      return [name, settled(child)]
    }),
  )
}

/** The texts of `299 - "text"` headers. */
function warningsOf(header: string | string[] | undefined): string[] {
  const text = Array.isArray(header) ? header.join(', ') : (header ?? '')
  return [...text.matchAll(/299 - ("(?:[^"\\]|\\.)*")/g)].map(([, quoted = '""']) =>
    String(JSON.parse(quoted)),
  )
}

describe('recorded answers of release 1.20', () => {
  let server: TestApiServer
  beforeAll(async () => {
    // As in the recorded session.
    server = await startApiServer({ flags: ['--disable-admission-plugins=ServiceAccount'] })
  })
  afterAll(() => server[Symbol.asyncDispose]())

  it('are there', () => expect(exchanges.length).toBeGreaterThan(70))

  it('every difference is of an answer that was recorded', () => {
    const titles = exchanges.map(({ title }) => title)
    const named = [...Object.keys(differences), ...Object.keys(unrecorded)]
    expect(named.filter((title) => !titles.includes(title))).toEqual([])
  })

  describe.each(exchanges)('$request.method $request.path', ({ title, request, response }) => {
    it(title, async () => {
      const before = unrecorded[title]
      if (before !== undefined) await server.ok(before[0], before[1], { body: before[2] })
      const answer = await server.request(request.method, request.path, {
        body: request.body,
        headers: {
          // Names the manager of fields.
          'user-agent': 'Python-urllib/3.11',
          ...(request.contentType === undefined ? {} : { 'content-type': request.contentType }),
          ...(request.accept === undefined ? {} : { accept: request.accept }),
        },
        ...(request.anonymous === true ? { as: 'anonymous' } : {}),
      })
      const difference = differences[title]
      const actual = settled(answer.body)
      const recorded = settled(response.body)
      expect(actual).toEqual(difference?.expected(recorded, actual) ?? recorded)
      expect(answer.status).toBe(difference?.status ?? response.status)
      expect(answer.headers['content-type']).toBe(response.contentType)
      expect(warningsOf(answer.headers['warning'])).toEqual(difference?.warnings ?? [])
    })
  })

  it('no answer was an error of the server', () => expect(server.faults).toEqual([]))
})
