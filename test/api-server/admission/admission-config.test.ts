/** --admission-control-config-file: defaults and exemptions of pod security, inline and in a file of their own, and every fault by its place. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { dialects } from '../../../components/api/dialect.ts'
import { startApiServer, type TestApiServer } from '../../support/api-server.ts'

type Json = Record<string, unknown>
const folder = mkdtempSync(join(tmpdir(), 'admission-config-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
let files = 0

function write(content: unknown, name = `file-${(files += 1)}.yaml`): string {
  const path = join(folder, name)
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}
const document = (plugins: unknown, domain = 'k8s.io'): Json => ({
  apiVersion: `apiserver.config.${domain}/v1`,
  kind: 'AdmissionConfiguration',
  plugins,
})
const podSecurity = (more: Json, domain = 'k8s.io'): Json => ({
  apiVersion: `pod-security.admission.config.${domain}/v1`,
  kind: 'PodSecurityConfiguration',
  ...more,
})
const flag = (path: string): string => `--admission-control-config-file=${path}`

describe.each(Object.values(dialects))('pod security by file, dialect $name', (dialect) => {
  const rules = podSecurity(
    {
      defaults: { enforce: 'baseline', 'enforce-version': 'latest', audit: 'restricted' },
      exemptions: {
        usernames: ['robot'],
        namespaces: ['free'],
        runtimeClasses: ['sandboxed'],
      },
    },
    dialect.apiDomain,
  )
  const start = async (path: string) =>
    await startApiServer({
      dialect: dialect.name,
      flags: [
        flag(path),
        '--authorization-mode=AlwaysAllow',
        '--disable-admission-plugins=ServiceAccount',
      ],
    })
  async function pod(
    server: TestApiServer,
    ns: string,
    more: { as?: string; spec?: Json; labels?: Json } = {},
  ) {
    files += 1
    const spec = {
      containers: [{ name: 'c', image: 'i', securityContext: { privileged: true } }],
      ...more.spec,
    }
    return await server.request('POST', `/api/v1/namespaces/${ns}/pods`, {
      body: { metadata: { name: `p-${files}` }, spec },
      ...(more.as === undefined ? {} : { headers: { 'impersonate-user': more.as } }),
    })
  }

  it.each(['in the file itself', 'in a file that it names'])('%s', async (where) => {
    const own = { name: 'PodSecurity' }
    const configuration = where.includes('itself')
      ? { ...own, configuration: rules }
      : { ...own, path: write(rules, `pod-security-${dialect.name}.yaml`).slice(folder.length + 1) }
    await using server = await start(write(document([configuration], dialect.apiDomain)))
    const key = `pod-security.${dialect.labelDomain}`

    // What labels do not say.
    const plain = await server.namespace()
    const refused = await pod(server, plain)
    expect([refused.status, refused.body.message]).toEqual([
      403,
      expect.stringContaining('violates PodSecurity "baseline:latest": privileged'),
    ])
    const { annotations } = await server.auditOf(refused)
    expect(annotations[`${key}/enforce-policy`]).toBe('baseline:latest')
    expect(annotations[`${key}/audit-violations`]).toContain(
      'would violate PodSecurity "restricted:latest"',
    )

    // What they say counts.
    const labelled = (name: string, labels: Json) =>
      server.request('POST', '/api/v1/namespaces', { body: { metadata: { name, labels } } })
    await labelled('open', { [`${key}/enforce`]: 'privileged' })
    expect((await pod(server, 'open')).status).toBe(201)

    // Who is exempt, and by what.
    const robot = await pod(server, plain, { as: 'robot' })
    expect(robot.status).toBe(201)
    expect((await server.auditOf(robot)).annotations[`${key}/exempt`]).toBe('user')
    expect((await pod(server, plain, { as: 'robot2' })).status).toBe(403)
    await server.ok('POST', `/apis/${server.group('node')}/v1/runtimeclasses`, {
      body: { metadata: { name: 'sandboxed' }, handler: 'h' },
    })
    const sandboxed = await pod(server, plain, { spec: { runtimeClassName: 'sandboxed' } })
    expect(sandboxed.status, sandboxed.text).toBe(201)
    expect((await server.auditOf(sandboxed)).annotations[`${key}/exempt`]).toBe('runtimeClass')
    const free = await labelled('free', { [`${key}/enforce`]: 'restricted' })
    expect(free.headers['warning']).toContain(
      'namespace \\"free\\" is exempt from Pod Security, and the policy (enforce=restricted:latest, audit=restricted:latest, warn=restricted:latest) will be ignored',
    )
    const inFree = await pod(server, 'free')
    expect(inFree.status).toBe(201)
    expect((await server.auditOf(inFree)).annotations[`${key}/exempt`]).toBe('namespace')

    // Controllers are told nothing of what their Pods may do.
    const deployment = await server.request('POST', `/apis/apps/v1/namespaces/free/deployments`, {
      body: {
        metadata: { name: 'd' },
        spec: {
          selector: { matchLabels: { a: 'b' } },
          template: {
            metadata: { labels: { a: 'b' } },
            spec: {
              containers: [{ name: 'c', image: 'i', securityContext: { privileged: true } }],
            },
          },
        },
      },
    })
    expect([deployment.status, deployment.headers['warning']]).toEqual([201, undefined])
  })
})

describe('an admission configuration', () => {
  const refusal = async (path: string): Promise<string> => {
    try {
      await using _ = await startApiServer({ flags: [flag(path)] })
      return 'started'
    } catch (error) {
      return (error as Error).message.replaceAll(folder, '')
    }
  }
  const own = (configuration: unknown) => write(document([{ name: 'PodSecurity', configuration }]))

  it.each<[string, () => string, RegExp]>([
    ['is missing', () => join(folder, 'nothing.yaml'), /cannot read \/nothing\.yaml: ENOENT/],
    ['holds no object', () => write('[]'), /the file holds no object/],
    [
      'has no kind',
      () => write('{"apiVersion": "apiserver.config.k8s.io/v1"}'),
      /Object 'Kind' is missing/,
    ],
    [
      'is of another kind',
      () => write({ apiVersion: 'apiserver.config.k8s.io/v1', kind: 'AuthorizationConfiguration' }),
      /no kind "AuthorizationConfiguration" is registered for version "apiserver\.config\.k8s\.io\/v1"/,
    ],
    [
      'has an unknown field',
      () => write(document([{ name: 'PodSecurity', config: {} }])),
      /unknown field "plugins\[0\]\.config"/,
    ],
    [
      'has a plugin without a name',
      () => write(document([{}])),
      /plugins\[0\]\.name: Required value/,
    ],
    [
      'names a plugin twice',
      () => write(document([{ name: 'PodSecurity' }, { name: 'PodSecurity' }])),
      /plugins\[1\]\.name: Duplicate value: "PodSecurity"/,
    ],
    [
      'names a file that is not there',
      () => write(document([{ name: 'PodSecurity', path: 'gone.yaml' }])),
      /plugins\[0\]\.path: cannot read \/gone\.yaml: ENOENT/,
    ],
    [
      'has a level that is none',
      () => own(podSecurity({ defaults: { enforce: 'strict', 'audit-version': '1.30' } })),
      /plugins\[0\]\.configuration: \[defaults\.enforce: Invalid value: "strict": must be one of privileged, baseline, restricted, defaults\.audit-version: Invalid value: "1\.30": must be "latest" or "v1\.x"\]/,
    ],
    [
      'exempts what can have no such name, or twice',
      () =>
        own(
          podSecurity({
            exemptions: {
              namespaces: ['a', 'Not Valid', 'a'],
              usernames: [''],
              runtimeClasses: ['x', 'x'],
            },
          }),
        ),
      /exemptions\.namespaces\[1\]: Invalid value: "Not Valid"[^]*exemptions\.namespaces\[2\]: Duplicate value: "a"[^]*exemptions\.runtimeClasses\[1\]: Duplicate value: "x"[^]*exemptions\.usernames\[0\]: Invalid value: "": username must not be empty/,
    ],
    [
      'has another type where a list is to be',
      () => own(podSecurity({ exemptions: { usernames: 'root' } })),
      /plugins\[0\]\.configuration: .*exemptions\.usernames/,
    ],
    [
      'names a file with a fault',
      () => {
        write(podSecurity({ nothing: 1 }), 'faulty.yaml')
        return write(document([{ name: 'PodSecurity', path: 'faulty.yaml' }]))
      },
      /: \/faulty\.yaml: strict decoding error: unknown field "nothing"/,
    ],
  ])('that %s keeps the server from starting', async (_what, make, message) => {
    const told = await refusal(make())
    expect(told).toContain('--admission-control-config-file: ')
    expect(told).toMatch(message)
  })

  it('of a plugin that takes none is said and left alone', async () => {
    const path = write(document([{ name: 'Priority', configuration: { kind: 'X' } }]))
    await using server = await startApiServer({ flags: [flag(path)] })
    expect((await server.request('GET', '/readyz')).status).toBe(200)
  })
})
