/** Lesson sessions: verdicts of checks, once and as they change, from nothing but a client. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { dialects } from '../../../components/api/dialect.ts'
import { aborted } from '../../../components/component-base/aborted.ts'
import { createClient, type Client } from '../../../components/client/client.ts'
import type { ComponentStates, States } from '../../../console/lessons-engine/component-states.ts'
import { lessonPlace } from '../../../console/lessons-engine/lesson-place.ts'
import { createLessonSession } from '../../../console/lessons-engine/lesson-session.ts'
import type { LessonSession } from '../../../console/lessons-engine/lesson-session.ts'
import { parseLesson } from '../../../console/lessons-engine/lesson.ts'
import type { Verdict } from '../../../console/lessons-engine/verdict.ts'
import { definitionOf } from '../../support/custom-definitions.ts'
import { sharedServer } from '../../support/shared-server.ts'

const server = sharedServer()
let client: Client
let left: AbortController
let count = 0

beforeAll(() => {
  const shown = server().credential({ user: 'viewer', groups: ['system:masters'] })
  client = createClient({
    server: `https://127.0.0.1:${server().port}`,
    ca: server().pki.authority.certificatePem,
    credentials: { cert: shown?.certificatePem ?? '', key: shown?.privateKeyPem ?? '' },
    dialect: dialects.kubernetes,
  })
})
afterAll(() => client.close())
beforeEach(() => {
  left = new AbortController()
  count += 1
  return () => left.abort(new Error('the test is over'))
})

function sessionOf(checks: readonly string[], components?: ComponentStates): LessonSession {
  const steps = checks.map(
    (check, index) =>
      `  - { heading: 'Step ${index}', text: 'Name \${name}.', command: 'get \${name} \${other}', explanation: x, check: ${check} }\n`,
  )
  const text = `title: a\nsummary: b\nvariables: { name: 'one-${count}' }\nsteps:\n${steps.join('')}`
  const place = lessonPlace({ client, name: 'lab', components })
  return createLessonSession(parseLesson(text, 'played.yaml'), place)
}

const check = (session: LessonSession, index = 0): Promise<Verdict> =>
  session.check(index, left.signal)

/** The verdicts from now on, one at a time. */
function follow(session: LessonSession, index = 0): () => Promise<Verdict> {
  const verdicts = session.verdicts(index, left.signal)
  return async () => {
    const { value } = await verdicts.next()
    return value as Verdict
  }
}

/** Reads on until the step is done, or not done. */
async function until(next: () => Promise<Verdict>, done: boolean): Promise<Verdict> {
  for (;;) {
    const verdict = await next()
    if (verdict.done === done) return verdict
  }
}

const maps = '/api/v1/namespaces/default/configmaps'
const createMap = (data = {}, name = `one-${count}`) =>
  server().ok('POST', maps, {
    body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data },
  })

describe('objects', () => {
  test('are not there, then as they should be, then not any more', async () => {
    const session = sessionOf([
      "{ expect: { kind: cm, name: '${name}', where: data.color == red } }",
    ])
    expect(await check(session)).toEqual({
      done: false,
      report: [`expected: cm one-${count}, data.color == red`, 'no such object'],
    })
    const next = follow(session)
    expect((await next()).done).toBe(false)
    await createMap({ color: 'red' })
    expect(await next()).toEqual({ done: true, report: [] })
    const metadata = { name: `one-${count}` }
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { color: 'blue' } }
    await server().ok('PUT', `${maps}/one-${count}`, { body })
    const { done, report } = await next()
    expect(done).toBe(false)
    expect(report.join('\n')).toContain('data.color == red: it is blue')
  })

  test('of a kind that a definition brings later are waited for', async () => {
    const next = follow(sessionOf(['{ expect: { kind: Planet, count: 0 } }']))
    expect(await next()).toMatchObject({
      done: false,
      report: [expect.stringContaining('no such kind: Planet')],
    })
    const body = definitionOf(server(), { group: 'sky.example.com', kind: 'Planet' })
    await server().ok('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', { body })
    expect(await until(next, true)).toEqual({ done: true, report: [] })
  })

  test('that the viewer may not see are an error', async () => {
    const shown = server().credential({ user: 'nobody' })
    const powerless = createClient({
      server: client.rest.server,
      ca: server().pki.authority.certificatePem,
      credentials: { cert: shown?.certificatePem ?? '', key: shown?.privateKeyPem ?? '' },
      dialect: dialects.kubernetes,
    })
    const lesson = sessionOf(['{ expect: { kind: Pod } }']).lesson
    const session = createLessonSession(lesson, lessonPlace({ client: powerless, name: 'lab' }))
    await expect(check(session)).rejects.toThrow(/pods is forbidden: User "nobody"/)
    powerless.close()
  })
})

describe('variables', () => {
  test('of a step that is done are known to the next ones', async () => {
    const session = sessionOf([
      "{ expect: { kind: ConfigMap, name: '${name}', save: { other: metadata.uid } } }",
      "{ expect: { kind: ConfigMap, name: '${name}', where: 'metadata.uid == ${other}' } }",
    ])
    expect(session.view(1)).toMatchObject({
      text: `Name one-${count}.`,
      command: `get one-${count} \${other}`,
    })
    expect((await check(session, 1)).report.join()).toMatch(
      /variable \${other} is not set.*earlier step/,
    )
    await createMap()
    expect((await check(session)).done).toBe(true)
    expect(session.view(1).command).toMatch(/^get one-\d+ [0-9a-f-]{36}$/)
    expect((await check(session, 1)).done).toBe(true)
  })

  test('hold the name of the cluster and its address', () => {
    const { variables } = sessionOf(['{ expect: { kind: Pod } }'])
    expect(variables.all()).toMatchObject({ cluster: 'lab', server: client.rest.server })
  })
})

describe('requests', () => {
  const asked = (status: number): string =>
    `{ request: { as: { user: 'carol-${count}' }, path: '${maps}', again: RoleBinding, expect: { status: ${status} } } }`

  test('are sent as another user, and again when something changes', async () => {
    const session = sessionOf([asked(200), asked(403)])
    expect((await check(session, 1)).done).toBe(true)
    const next = follow(session)
    const { done, report } = await next()
    expect(done).toBe(false)
    expect(report[0]).toContain(`GET ${maps}: status 403`)
    await server().ok(
      'POST',
      '/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings',
      {
        body: {
          metadata: { name: `carol-${count}` },
          roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
          subjects: [
            { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: `carol-${count}` },
          ],
        },
      },
    )
    expect(await until(next, true)).toEqual({ done: true, report: [] })
  })

  test('are sent as a group and as a service account', async () => {
    const session = sessionOf([
      `{ request: { as: { serviceAccount: default/web }, method: POST, path: /apis/authentication.k8s.io/v1/selfsubjectreviews,
        body: { apiVersion: authentication.k8s.io/v1, kind: SelfSubjectReview }, again: Role, expect: { status: 201,
        where: ['status.userInfo.username == system:serviceaccount:default:web', 'status.userInfo.groups contains system:serviceaccounts'] } } }`,
      `{ request: { as: { user: dan, group: makers }, method: POST, path: /apis/authentication.k8s.io/v1/selfsubjectreviews,
        body: { apiVersion: authentication.k8s.io/v1, kind: SelfSubjectReview }, again: Role, expect: { status: 201,
        where: status.userInfo.groups contains makers } } }`,
    ])
    expect(await check(session, 0)).toEqual({ done: true, report: [] })
    expect(await check(session, 1)).toEqual({ done: true, report: [] })
  })

  test('have to be right together with all other conditions', async () => {
    const both = `{ expect: { kind: ConfigMap, name: '\${name}' }, request: { path: '${maps}/\${name}', again: ConfigMap, save: { other: data.color } } }`
    const session = sessionOf([both])
    const next = follow(session)
    expect((await next()).report.length).toBeGreaterThan(1)
    await createMap({ color: 'green' })
    expect(await until(next, true)).toEqual({ done: true, report: [] })
    expect(session.variables.get('other')).toBe('green')
  })
})

describe('components', () => {
  test('are judged after each change', async () => {
    const status = {
      name: 'api-server',
      program: 'api-server',
      state: 'ready',
      restarts: 0,
      sinceMs: 0,
    } as const
    const turn = Promise.withResolvers<void>()
    const components: ComponentStates = {
      changes: async function* (signal) {
        yield new Map([['api-server', status]]) as States
        await Promise.race([turn.promise, aborted(signal)])
        signal.throwIfAborted()
        yield new Map([['api-server', { ...status, restarts: 1 }]]) as States
      },
    }
    const session = sessionOf(
      [
        '{ component: { name: api-server, where: restarts > 0, save: { other: restarts } } }',
        '{ component: { name: etcd, where: a exists } }',
      ],
      components,
    )
    expect(await check(session, 1)).toEqual({ done: false, report: ['there is no component etcd'] })
    const next = follow(session)
    expect(await next()).toEqual({
      done: false,
      report: ['component api-server: restarts > 0: it is 0'],
    })
    turn.resolve()
    expect(await next()).toEqual({ done: true, report: [] })
    expect(session.variables.get('other')).toBe(1)
  })

  test('that cannot be asked are never as they should be', async () => {
    const session = sessionOf(['{ component: { name: api-server, where: state == ready } }'])
    expect((await check(session)).report).toEqual([
      'this cluster has no supervisor that can be asked for its components',
    ])
  })
})

describe('questions', () => {
  test('are done with a right answer only', async () => {
    const session = sessionOf(['{ answer: { question: Which colour?, matches: ^red$ } }'])
    expect(session.view(0).question).toBe('Which colour?')
    const next = follow(session)
    expect(await next()).toEqual({ done: false, report: ['not answered yet: Which colour?'] })
    session.answer(0, 'blue')
    expect(await next()).toEqual({ done: false, report: ['that is another answer than expected'] })
    session.answer(0, 'RED')
    expect(await next()).toEqual({ done: true, report: [] })
  })
})

test('a reader that leaves, and one that is aborted, end all watches', async () => {
  const session = sessionOf([
    "{ expect: [{ kind: ConfigMap, name: '${name}' }, { kind: Secret, count: 0 }] }",
  ])
  const verdicts = session.verdicts(0, left.signal)
  await verdicts.next()
  await verdicts.return(undefined)
  const waiting = session.verdicts(0, left.signal)
  await waiting.next()
  const next = waiting.next()
  left.abort(new Error('enough'))
  await expect(next).rejects.toThrow('enough')
})
