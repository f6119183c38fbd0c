/** `skiff why` on a real cluster: what it says is what then happens, and nothing secret is in any of it or in the logs. */
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Cluster } from '../../cluster/cluster.ts'
import { clusterClient } from '../../cluster/cluster-client.ts'
import type { AccessExplanation } from '../../components/api/explanations.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { systemClock } from '../../components/component-base/clock.ts'
import { isStatusError } from '../../components/machinery/objects/status-error.ts'
import { builtOnce } from './built.ts'
import { createPlace } from './place.ts'

const place = createPlace()
afterAll(() => place[Symbol.asyncDispose]())

describe.each(['kubernetes', 'svc'] as const)('why, dialect %s', (dialect) => {
  const name = `why-${dialect}`
  const auditPath = join(place.root, 'tmp', `${name}.audit`)
  let cluster: Cluster

  beforeAll(async () => {
    await builtOnce()
    cluster = await place.up(name, [
      '--nodes',
      '1',
      '--dialect',
      dialect,
      '--set',
      `api-server.audit-log-path=${auditPath}`,
    ])
  })

  const why = (...words: string[]) => place.run(['why', ...words, '--name', name])

  const file = (text: string): string => {
    const path = join(place.root, 'tmp', 'input')
    writeFileSync(path, text, { mode: 0o600 })
    return path
  }

  /** The answer to a list of config maps by that user. */
  async function listed(user: string): Promise<'answered' | 'forbidden'> {
    const client = clusterClient({ ...cluster, clock: systemClock }, { user })
    try {
      await client.resource(resourcesOf(client.dialect).configMaps).list({ namespace: 'default' })
      return 'answered'
    } catch (error) {
      if (!isStatusError(error, 'Forbidden')) throw error
      return 'forbidden'
    }
  }

  test('denied, with the role that would allow it; with that role it is allowed', async () => {
    expect(await listed('ann')).toBe('forbidden')
    const before = await why('list', 'configmaps', '--as', 'ann')
    expect(before.code).toBe(1)
    expect(before.stdout).toMatch(/^Denied: list configmaps in namespace default\n/)
    const json = await why('list', 'cm', '--as', 'ann', '-o', 'json')
    expect(json.code).toBe(1)
    const { wouldAllow = [] } = JSON.parse(json.stdout) as AccessExplanation
    const { roles, roleBindings } = resourcesOf(cluster.client.dialect)
    const [role = { metadata: {} }, binding = { metadata: {} }] = wouldAllow
    await cluster.client.resource(roles).create(role)
    await cluster.client.resource(roleBindings).create(binding)
    const after = await why('list', 'configmaps', '--as', 'ann', '-n', 'default')
    expect(after).toMatchObject({ code: 0, stderr: '' })
    expect(after.stdout).toContain('RoleBinding default/ann-list-configmaps gives Role default/')
    expect(await listed('ann')).toBe('answered')
  })

  test('-f: reviews and objects, of which all must be allowed', async () => {
    const review = {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: { user: 'x', nonResourceAttributes: { path: '/version', verb: 'get' } },
    }
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' } }
    const both = await why(
      '-f',
      file(JSON.stringify({ kind: 'List', items: [review, pod] })),
      '--as',
      'eve',
    )
    expect(both.code).toBe(1)
    expect(both.stdout).toContain('create pods in namespace default')
    const missing = await why('-f', '/nonexistent/file', '--as', 'eve')
    expect(missing.code).toBe(1)
    expect(missing.stdout).toBe('')
    expect(missing.stderr).toMatch(/^error: cannot read /)
  })

  test('a token is explained, the last denied request too, and its secret half is in no log and no record', async () => {
    const { client } = cluster
    const secrets: string[] = []
    const { status } = (await client.rest.json({
      method: 'POST',
      path: '/api/v1/namespaces/default/serviceaccounts/default/token',
      body: { spec: {} },
    })) as { status: { token: string } }
    const good = await why('--token-file', file(`${status.token}\n`))
    expect(good.code).toBe(0)
    expect(good.stdout).toMatch(/^Accepted: system:serviceaccount:default:default\n/)
    const [head = '', body = '', signature = ''] = status.token.split('.')
    const forged = `${head}.${body}.${signature.split('').toReversed().join('')}`
    secrets.push(signature, forged.split('.')[2] ?? '', '0123456789abcdef')
    const bad = await why('--token-file', file(forged))
    expect(bad.code).toBe(1)
    expect(bad.stdout).toMatch(/^Rejected: the signature does not hold\n/)
    const bootstrap = await why('--token-file', file('abcdef.0123456789abcdef'))
    expect(bootstrap.code).toBe(1)
    const stranger = clusterClient({ ...cluster, clock: systemClock }, { token: forged })
    await expect(stranger.rest.json({ method: 'GET', path: '/api/v1/pods' })).rejects.toThrow()
    const last = await why('--last')
    expect(last.code).toBe(0)
    expect(last.stdout).toMatch(/^401 GET \/api\/v1\/pods /)
    const logs = readdirSync(cluster.paths.logs).map((one) => join(cluster.paths.logs, one))
    const all = [good, bad, bootstrap, last].map(({ stdout, stderr }) => stdout + stderr)
    all.push(...[...logs, auditPath].map((path) => readFileSync(path, 'utf8')))
    expect(all.at(-1)).toContain('/explain/token')
    expect(secrets.filter((secret) => all.some((text) => text.includes(secret)))).toEqual([])
  })
})
