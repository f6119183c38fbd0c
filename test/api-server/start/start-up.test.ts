/** What the flags of a start mean: help, feature gates, limits, and that a setting is read once. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startApiServer, user } from '../../support/api-server.ts'
import { eventually } from '../../support/eventually.ts'
import { allowEverywhere } from '../../support/grants.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const folder = temporaryFolder('start-up')

/** A component's process with these flags; ended by the caller or by itself. */
function run(component: string, ...flags: string[]) {
  const main = resolve(`components/${component}/main.ts`)
  const child = spawn(process.execPath, [main, ...flags], { stdio: ['ignore', 'pipe', 'pipe'] })
  const text = { out: '', err: '' }
  child.stdout.on('data', (chunk: Buffer) => (text.out += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (text.err += chunk.toString()))
  return { child, text, closed: once(child, 'close') }
}

describe('the API server', () => {
  it('[HEALTH-004] serves /healthz and says that it is deprecated since 1.16', async () => {
    await using server = await startApiServer()
    expect((await server.request('GET', '/healthz')).text).toBe('ok')
    const { text, closed } = run('api-server', '--help')
    await closed
    expect(text.out).toContain('/healthz is deprecated since 1.16')
  })

  it('[VER-045][VER-057] lists its feature gates in --help, with stage and deprecation, as node agents do', async () => {
    for (const component of ['api-server', 'node-agent']) {
      const { text, closed } = run(component, '--help')
      await closed
      const gates = text.out.split('\n').map((line) => line.trim())
      expect(gates).toContain('ContainerCheckpoint=true|false (BETA - default=true)')
      expect(gates).toContain(
        'ValidatingAdmissionPolicy=true|false (GA - default=true, deprecated: it will be removed)',
      )
    }
  })

  it('[VER-044] logs a warning when a deprecated feature gate is set, and refuses to turn it off', async () => {
    const { child, text, closed } = run(
      'api-server',
      '--secure-port=0',
      '--feature-gates=ValidatingAdmissionPolicy=true,ContainerCheckpoint=true',
    )
    await eventually(() => expect(text.err).toContain('feature gate'))
    child.kill('SIGTERM')
    await closed
    const warnings = text.err
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as { level: string; message: string })
      .filter(({ level }) => level === 'warn')
    expect(warnings.map(({ message }) => message)).toEqual([
      'Setting GA feature gate ValidatingAdmissionPolicy=true. It will be removed in a future release.',
    ])
    const refused = run('api-server', '--feature-gates=ValidatingAdmissionPolicy=false')
    expect(await refused.closed).toEqual([1, null])
    expect(refused.text.err).toContain('feature is locked to true')
  })

  it('[VER-002][VER-005] serves alpha and beta versions only where --runtime-config says so', async () => {
    const versionsOf = async (flags: readonly string[]): Promise<string[]> => {
      await using server = await startApiServer({ flags })
      const { groups } = (await server.ok('GET', '/apis')) as {
        groups: { versions: { groupVersion: string }[] }[]
      }
      const listed = groups.flatMap(({ versions }) => versions.map((one) => one.groupVersion))
      for (const version of unstable) {
        const { status } = await server.request('GET', `/apis/${version}`)
        expect([version, status]).toEqual([version, listed.includes(version) ? 200 : 404])
      }
      return listed
    }
    const [alpha, beta] = ['coordination.k8s.io/v1alpha2', 'networking.k8s.io/v1beta1']
    const unstable = [alpha, beta]
    const stable = await versionsOf([])
    expect(stable.length).toBeGreaterThan(15)
    // No beta from before 1.22 is left in this release.
    for (const version of stable) expect(version).toMatch(/\/v\d+$/)
    for (const version of unstable) {
      const listed = await versionsOf([`--runtime-config=${version}=true`])
      expect(listed.toSorted()).toEqual([...stable, version].toSorted())
      expect(await versionsOf([`--runtime-config=${version}=false`])).toEqual(stable)
    }
  })

  it('takes another --runtime-config only when it is started again', async () => {
    const path = join(folder, 'config.json')
    const write = (runtimeConfig: string): void =>
      writeFileSync(path, JSON.stringify({ 'runtime-config': runtimeConfig }))
    write('batch/v1=false')
    await using server = await startApiServer({ store: 'sqlite', flags: [`--config=${path}`] })
    const statusOf = async (version: string): Promise<number> =>
      (await server.request('GET', `/apis/${version}`)).status
    expect([await statusOf('batch/v1'), await statusOf('networking.k8s.io/v1beta1')]).toEqual([
      404, 404,
    ])
    write('networking.k8s.io/v1beta1')
    expect([await statusOf('batch/v1'), await statusOf('networking.k8s.io/v1beta1')]).toEqual([
      404, 404,
    ])
    await server.restart()
    expect([await statusOf('batch/v1'), await statusOf('networking.k8s.io/v1beta1')]).toEqual([
      200, 200,
    ])
  })

  it('[VER-060] lets nodes read all nodes and pods only without AuthorizeNodeWithSelectors', async () => {
    const node = user('system:node:n1', 'system:nodes')
    const reads = [
      '/api/v1/pods',
      '/api/v1/nodes',
      '/api/v1/nodes/n2',
      '/api/v1/pods?fieldSelector=spec.nodeName%3Dn2',
    ]
    const own = ['/api/v1/pods?fieldSelector=spec.nodeName%3Dn1', '/api/v1/nodes/n1']
    for (const [flags, status] of [
      [[], 403],
      [['--feature-gates=AuthorizeNodeWithSelectors=true'], 403],
      [['--feature-gates=AuthorizeNodeWithSelectors=false'], 200],
    ] as const) {
      await using server = await startApiServer({ flags })
      for (const name of ['n1', 'n2']) {
        await server.ok('POST', '/api/v1/nodes', { body: { metadata: { name } } })
      }
      for (const path of reads) {
        const answer = await server.request('GET', path, { as: node })
        expect([path, answer.status]).toEqual([path, status])
      }
      for (const path of own) {
        expect((await server.request('GET', path, { as: node })).status, path).toBe(200)
      }
      const { text } = await server.request('GET', '/metrics')
      expect(text).toContain(
        `kubernetes_feature_enabled{name="AuthorizeNodeWithSelectors",stage="BETA"} ${status === 200 ? 0 : 1}`,
      )
    }
  })

  it('answers 429 with Retry-After past its limit, with an id that the audit record has, too', async () => {
    await using server = await startApiServer({
      store: 'sqlite',
      flags: ['--max-mutating-requests-inflight=1', '--enable-priority-and-fairness=false'],
    })
    // Administrators are never refused.
    const rules = [{ apiGroups: [''], resources: ['namespaces'], verbs: ['create'] }]
    const as = await allowEverywhere(server, 'maker', rules)
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => {
        const body = { metadata: { name: `n${index}` } }
        return server.request('POST', '/api/v1/namespaces', { body, as })
      }),
    )
    const refused = answers.filter(({ status }) => status === 429)
    expect(answers.some(({ status }) => status === 201)).toBe(true)
    expect(refused.length).toBeGreaterThan(0)
    for (const { headers, body } of refused) {
      expect(headers['retry-after']).toBe('1')
      expect(body).toMatchObject({ kind: 'Status', reason: 'TooManyRequests', code: 429 })
    }
    const [first] = refused
    if (first === undefined) throw new Error('one was refused')
    expect((await server.auditOf(first)).responseStatus.code).toBe(429)
    const { text } = await server.request('GET', '/metrics')
    expect(text).toMatch(/^apiserver_request_terminations_total\{code="429",.*\} \d+$/m)
  })
})
