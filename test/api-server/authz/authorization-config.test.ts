import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startApiServer, user, type TestApiServer } from '../../support/api-server.ts'
import { eventually } from '../../support/eventually.ts'
import {
  type Json,
  allow,
  askedOf,
  bound,
  deny,
  entry,
  fileOf,
  folder,
  fresh,
  pods,
  refusal,
  refused,
  refusedStart,
  remote,
  second,
  start,
  webhook,
  whole,
  useRemotes,
} from '../../support/authorization-remotes.ts'

useRemotes()

describe('match conditions', () => {
  const withConditions = async (expressions: string[], failurePolicy = 'NoOpinion') =>
    await start([
      entry('remote', {
        failurePolicy,
        matchConditions: expressions.map((expression) => ({ expression })),
      }),
      { type: 'RBAC', name: 'rbac' },
    ])

  it('[WEBHOOK-042][WEBHOOK-044] are expressions over the request; when all hold the remote is asked', async () => {
    await using server = await withConditions([
      'has(request.resourceAttributes)',
      "request.resourceAttributes.namespace == 'default'",
      "!('system:serviceaccounts' in request.groups)",
    ])
    remote.answer = () => allow
    const name = fresh()
    expect((await server.request('GET', pods, { as: user(name) })).status).toBe(200)
    expect(askedOf(name)).toHaveLength(1)
    const condition = (expression: string) => refused({ matchConditions: [{ expression }] })
    expect(condition('request.user')).toContain('must evaluate to bool')
    expect(condition('request.nothing == 1')).toContain("undefined field 'nothing'")
    expect(condition('request.')).toContain('Syntax error')
    expect(condition('')).toBe(
      'authorizers[0].webhook.matchConditions[0].expression: Required value',
    )
  })

  it('[WEBHOOK-043] one that is false leaves the remote out', async () => {
    await using server = await withConditions(['true', "request.user == 'somebody else'"], 'Deny')
    const name = await bound(server)
    expect((await server.request('GET', pods, { as: user(name) })).status).toBe(200)
    expect(askedOf(name)).toEqual([])
  })

  const missing = "request.extra['missing'][0] == 'x'"
  it('[WEBHOOK-045] an error denies under Deny, unless another condition is false', async () => {
    await using server = await withConditions([missing], 'Deny')
    const name = await bound(server)
    expect((await server.request('GET', pods, { as: user(name) })).status).toBe(403)
    expect(askedOf(name)).toEqual([])
    await using other = await withConditions([missing, 'false'], 'Deny')
    expect((await other.request('GET', pods, { as: user(await bound(other)) })).status).toBe(200)
  })

  it('[WEBHOOK-046] an error leaves the remote out under NoOpinion', async () => {
    await using server = await withConditions([missing])
    const name = await bound(server)
    expect((await server.request('GET', pods, { as: user(name) })).status).toBe(200)
    expect(askedOf(name)).toEqual([])
  })

  it('[WEBHOOK-041][LIM-004] are 64 at most', () => {
    const many = (count: number) =>
      refused({
        matchConditions: Array.from({ length: count }, (_, at) => ({
          expression: `${at} == ${at}`,
        })),
      })
    expect(many(64)).toBe('accepted')
    expect(many(65)).toBe(
      'authorizers[0].webhook.matchConditions: Too many: 65: must have at most 64 items',
    )
  })
})

describe('the file of --authorization-config', () => {
  it('[AUTHZ-026] its authorizers apply', async () => {
    await using server = await start([entry('remote')])
    remote.answer = () => allow
    expect((await server.request('GET', pods, { as: user(fresh()) })).status).toBe(200)
  })

  it('[AUTHZ-028] goes with no flag of modes or webhooks', async () => {
    const config = `--authorization-config=${fileOf(whole([{ type: 'RBAC', name: 'rbac' }]))}`
    const message =
      '--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* flags are defined'
    expect(await refusedStart([config])).toBe(message)
    expect(
      await refusedStart([
        '--authorization-mode=',
        config,
        '--authorization-webhook-config-file=x',
      ]),
    ).toBe(message)
  })

  it.each(['kubernetes', 'svc'] as const)(
    '[AUTHZ-030] its kind and version, dialect %s',
    async (dialect) => {
      await using server = await start([{ type: 'RBAC', name: 'rbac' }], { dialect })
      expect((await server.request('GET', '/api')).status).toBe(200)
      const authorizers = [{ type: 'RBAC', name: 'rbac' }]
      const group = 'apiserver.config.k8s.io'
      const text = (apiVersion: string, kind: string) =>
        refusal(authorizers, JSON.stringify({ apiVersion, kind, authorizers }))
      expect(text(`${group}/v1`, 'AuthorizationConfiguration')).toBe('accepted')
      expect(text(`${group}/v2`, 'AuthorizationConfiguration')).toContain('no kind')
      expect(text(`${group}/v1`, 'AuthenticationConfiguration')).toContain('no kind')
    },
  )

  it('[AUTHZ-032] types', () => {
    for (const type of ['Node', 'RBAC']) expect(refusal([{ type, name: 'x' }])).toBe('accepted')
    expect(refusal([entry('x')])).toBe('accepted')
    expect(refusal([{ type: 'AlwaysAllow', name: 'x' }])).toBe(
      'authorizers[0].type: Unsupported value: "AlwaysAllow": supported values: "Node", "RBAC", "Webhook"',
    )
    expect(refusal([{ name: 'x' }])).toBe('authorizers[0].type: Required value')
    expect(
      refusal([
        { type: 'RBAC', name: 'x' },
        { type: 'RBAC', name: 'y' },
      ]),
    ).toBe('authorizers[1].type: Duplicate value: "RBAC"')
    expect(refusal([])).toBe(
      'authorizers: Required value: at least one authorization mode must be defined',
    )
  })

  it('[AUTHZ-033][AUTHZ-034] names', () => {
    expect(refusal([{ type: 'RBAC' }])).toBe('authorizers[0].name: Required value')
    expect(refusal([{ type: 'RBAC', name: 'a.b-c' }])).toBe('accepted')
    expect(refusal([{ type: 'RBAC', name: 'A b!' }])).toContain(
      'authorizers[0].name: Invalid value: "A b!": authorizer name is invalid',
    )
    expect(refusal([entry('x'), entry('x')])).toBe('authorizers[1].name: Duplicate value: "x"')
  })

  it('[WEBHOOK-034][WEBHOOK-035][WEBHOOK-036] versions and failure policy of a webhook', async () => {
    const at = 'authorizers[0].webhook'
    const needed = [
      'subjectAccessReviewVersion',
      'matchConditionSubjectAccessReviewVersion',
      'failurePolicy',
    ]
    for (const name of needed) {
      expect(refused({ [name]: undefined })).toBe(`${at}.${name}: Required value`)
      expect(refused({ [name]: 'v2' })).toContain(`${at}.${name}: Unsupported value: "v2"`)
    }
    expect(refused({ matchConditionSubjectAccessReviewVersion: 'v1beta1' })).toContain(
      'Unsupported value',
    )
    for (const version of ['v1', 'v1beta1']) {
      await using server = await start([entry('remote', { subjectAccessReviewVersion: version })])
      const name = fresh()
      await server.request('GET', pods, { as: user(name, 'devs') })
      expect(askedOf(name)[0]?.apiVersion).toBe(`authorization.k8s.io/${version}`)
      const spec = askedOf(name)[0]?.spec as Json
      expect(spec[version === 'v1' ? 'groups' : 'group']).toEqual(['devs', 'system:authenticated'])
    }
    for (const failurePolicy of ['NoOpinion', 'Deny'])
      expect(refused({ failurePolicy })).toBe('accepted')
  })

  it('[WEBHOOK-039] where the remote is', () => {
    const at = 'authorizers[0].webhook.connectionInfo'
    const place = (connectionInfo: Json) => refused({ connectionInfo })
    const kubeConfigFile = remote.kubeconfig(folder)
    expect(place({ type: 'KubeConfigFile', kubeConfigFile })).toBe('accepted')
    expect(place({ type: 'KubeConfigFile' })).toBe(`${at}.kubeConfigFile: Required value`)
    expect(place({ type: 'KubeConfigFile', kubeConfigFile: 'relative' })).toContain(
      'must be an absolute path',
    )
    expect(place({ type: 'KubeConfigFile', kubeConfigFile: '/no/such' })).toContain('no such file')
    expect(place({ type: 'KubeConfigFile', kubeConfigFile: folder })).toContain(
      'must be a regular file',
    )
    expect(place({ type: 'InClusterConfig' })).toBe('accepted')
    expect(place({ type: 'InClusterConfig', kubeConfigFile })).toContain(
      'can only be set when type=KubeConfigFile',
    )
    expect(place({ type: 'Magic' })).toContain(`${at}.type: Unsupported value: "Magic"`)
  })

  it('[WEBHOOK-028][WEBHOOK-029] the URL of the remote is plain https', async () => {
    const url = async (server: string) => {
      const path = join(folder, `url-${fresh()}.yaml`)
      writeFileSync(
        path,
        JSON.stringify({
          clusters: [{ name: 'c', cluster: { server } }],
          users: [],
          contexts: [{ name: 'x', context: { cluster: 'c', user: '' } }],
          'current-context': 'x',
        }),
      )
      return await refusedStart([
        '--authorization-mode=Webhook',
        `--authorization-webhook-config-file=${path}`,
      ])
    }
    expect(await url('http://127.0.0.1:1/x')).toContain('cluster.server must be a https URL')
    expect(await url('https://127.0.0.1:1/x?a=b')).toContain(
      'cluster.server must carry no parameters',
    )
  })

  it('fields that are not known, wrong types and other faults are refused', () => {
    expect(refused({ timeoutt: '3s' })).toContain('unknown field "authorizers[0].webhook.timeoutt"')
    expect(refused({ timeout: 3 })).toContain('timeout of type string')
    expect(refused({ timeout: 'soon' })).toContain('must be a duration like 30s')
    expect(refused({ authorizedTTL: '-1s' })).toContain(
      'authorizedTTL: Invalid value: "-1s": must be > 0s',
    )
    expect(refusal([{ type: 'Webhook', name: 'x' }])).toContain('required when type=Webhook')
    expect(refusal([{ type: 'RBAC', name: 'x', webhook: webhook() }])).toContain(
      'may only be specified when type=Webhook',
    )
  })

  it('[AUTHZ-035][AUTHZ-037] is followed without a restart, and its hash is in the metrics', async () => {
    const path = fileOf(whole([entry('before')]))
    const flags = ['--authorization-mode=', `--authorization-config=${path}`]
    await using server = await startApiServer({ flags })
    await using twin = await startApiServer({ flags })
    const hash = async (of: TestApiServer) =>
      /apiserver_authorization_config_controller_last_config_info\{[^}]*hash="(sha256:[0-9a-f]+)"\} 1/.exec(
        (await of.request('GET', '/metrics')).text,
      )?.[1]
    const decide = async (of: TestApiServer) =>
      (await of.request('GET', pods, { as: user(fresh()) })).status
    const before = await hash(server)
    expect(before).toMatch(/^sha256:/)
    expect(await hash(twin)).toBe(before)
    remote.answer = () => allow
    expect([await decide(server), await decide(twin)]).toEqual([200, 200])
    expect(await remote.connections()).toBeGreaterThan(0)
    second.answer = () => deny
    writeFileSync(`${path}.new`, whole([entry('after', {}, second)]))
    renameSync(`${path}.new`, path)
    await eventually(async () => {
      expect([await decide(server), await decide(twin)]).toEqual([403, 403])
    })
    expect(await hash(server)).not.toBe(before)
    expect(await hash(twin)).toBe(await hash(server))
    await eventually(async () => expect(await remote.connections()).toBe(0))
  })

  it('a file that cannot be used keeps the last, and says so', async () => {
    const path = fileOf(whole([entry('kept')]))
    await using server = await startApiServer({
      flags: ['--authorization-mode=', `--authorization-config=${path}`],
    })
    remote.answer = () => allow
    writeFileSync(path, whole([{ type: 'Magic', name: 'x' }]))
    await eventually(async () => {
      const { status, text } = await server.request('GET', '/readyz?verbose')
      expect(status).toBe(200)
      expect(text).toContain(
        '[+]authorization-config ok: the last one stays in use: authorizers[0].type',
      )
    })
    expect((await server.request('GET', pods, { as: user(fresh()) })).status).toBe(200)
    const metrics = (await server.request('GET', '/metrics')).text
    expect(metrics).toContain(
      'apiserver_authorization_config_controller_automatic_reloads_total{status="failure"',
    )
  })
})
