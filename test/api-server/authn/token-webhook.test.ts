import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApiServer, type TestApiServer } from '../../support/api-server.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import {
  startReviewRemote,
  type AskedReview,
  type RemoteAnswer,
  type ReviewRemote,
} from '../../support/review-remote.ts'
import { whoami } from '../../support/whoami.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

let remote: ReviewRemote
let folder: string
beforeAll(async () => {
  remote = await startReviewRemote()
  folder = temporaryFolder('token-webhook')
})
afterAll(async () => {
  await remote[Symbol.asyncDispose]()
})

const configFlag = (more?: Readonly<Record<string, unknown>>): string =>
  `--authentication-token-webhook-config-file=${remote.kubeconfig(folder, more)}`

const jane = {
  username: 'jane',
  uid: '7',
  groups: ['devs'],
  extra: { 'example.com/x': ['1', '2'] },
}
const isJane = (): RemoteAnswer => ({ status: { authenticated: true, user: jane } })

const reviewsOf = (token: string): AskedReview[] =>
  remote.asked.filter(({ spec }) => (spec as { token?: string }).token === token)

describe.each(['kubernetes', 'svc'] as const)('the token webhook, dialect %s', (dialect) => {
  let server: TestApiServer
  beforeAll(async () => {
    server = await startApiServer({ dialect, flags: [configFlag()] })
  })
  afterAll(async () => {
    await server[Symbol.asyncDispose]()
  })

  it('[WEBHOOK-001][WEBHOOK-003][WEBHOOK-005][WEBHOOK-008] is asked once for a token that nobody knows, and names its user', async () => {
    remote.answer = isJane
    const token = `unknown-${dialect}`
    const { user } = await whoami(server, token)
    expect(user).toEqual({ ...jane, groups: ['devs', 'system:authenticated'] })
    expect(reviewsOf(token)).toEqual([
      {
        apiVersion: `${server.group('authentication')}/v1beta1`,
        kind: 'TokenReview',
        spec: { token },
      },
    ])
    await using without = await startApiServer({ dialect })
    expect((await whoami(without, token)).status).toBe(401)
    expect(reviewsOf(token)).toHaveLength(1)
  })

  it('[WEBHOOK-007] must answer in the version it was asked in', async () => {
    const status = { authenticated: true, user: jane }
    remote.answer = ({ kind }) => ({
      body: { apiVersion: `${server.group('authentication')}/v1`, kind, status },
    })
    expect((await whoami(server, `other-version-${dialect}`)).status).toBe(401)
    remote.answer = ({ apiVersion, kind }) => ({ body: { apiVersion, kind, status } })
    expect((await whoami(server, `same-version-${dialect}`)).status).toBe(201)
  })
})

describe('answers of the token webhook', () => {
  let server: TestApiServer
  let tokens = 0
  const fresh = (): string => `token-${(tokens += 1)}`
  beforeAll(async () => {
    server = await startApiServer({ flags: [configFlag()] })
  })
  afterAll(async () => {
    await server[Symbol.asyncDispose]()
  })
  const review = async (answer: RemoteAnswer) => {
    remote.answer = () => answer
    const body = await server.ok(
      'POST',
      `/apis/${server.group('authentication')}/v1/tokenreviews`,
      {
        body: { spec: { token: fresh() } },
      },
    )
    return (body as { status: { authenticated?: boolean; error?: string } }).status
  }

  it('[WEBHOOK-009] without a name are none', async () => {
    remote.answer = () => ({
      status: { authenticated: true, user: { groups: ['system:masters'] } },
    })
    expect((await whoami(server, fresh())).status).toBe(401)
    remote.answer = () => ({ status: { authenticated: true } })
    expect((await whoami(server, fresh())).status).toBe(401)
  })

  it('[WEBHOOK-010][WEBHOOK-011] that refuse are 401, with the remote’s text or a general one', async () => {
    remote.answer = () => ({ status: { authenticated: false, error: 'token was revoked' } })
    expect((await whoami(server, fresh())).status).toBe(401)
    expect(
      await review({ status: { authenticated: false, error: 'token was revoked' } }),
    ).toMatchObject({
      error: 'token was revoked',
    })
    remote.answer = () => ({ status: { authenticated: false } })
    expect((await whoami(server, fresh())).status).toBe(401)
    expect((await review({ status: { authenticated: false } })).error).toBe('invalid bearer token')
  })

  it('[WEBHOOK-012] count by their status alone', async () => {
    const token = fresh()
    remote.answer = ({ apiVersion, kind }) => ({
      body: {
        apiVersion,
        kind,
        spec: { token: 'another', audiences: ['another'] },
        status: { authenticated: true, user: jane },
      },
    })
    expect((await whoami(server, token)).user?.username).toBe('jane')
  })

  it.each<[string, RemoteAnswer]>([
    ['no JSON', { body: 'no review' }],
    ['no status', { body: { apiVersion: 'authentication.k8s.io/v1beta1', kind: 'TokenReview' } }],
    [
      'another kind',
      { body: { apiVersion: 'authentication.k8s.io/v1beta1', kind: 'Pod', status: {} } },
    ],
    ['400', { code: 400 }],
    ['a redirect', { code: 302 }],
    ['wrong types', { status: { authenticated: 'true', user: jane } }],
    ['a name of the wrong type', { status: { authenticated: true, user: { username: 7 } } }],
  ])('of %s authenticate nobody', async (_, answer) => {
    remote.answer = () => answer
    expect((await whoami(server, fresh())).status).toBe(401)
  })
})

describe('the flags of the token webhook', () => {
  const refused = async (...flags: string[]): Promise<string> =>
    await startApiServer({ flags }).then(
      async (server) => {
        await server[Symbol.asyncDispose]()
        return 'started'
      },
      (error: unknown) => (error as Error).message,
    )

  it('[WEBHOOK-002] name the version', async () => {
    remote.answer = isJane
    await using server = await startApiServer({
      flags: [configFlag(), '--authentication-token-webhook-version=v1'],
    })
    expect((await whoami(server, 'of-v1')).status).toBe(201)
    expect(reviewsOf('of-v1')[0]?.apiVersion).toBe('authentication.k8s.io/v1')
    expect(await refused(configFlag(), '--authentication-token-webhook-version=v2')).toContain('v2')
  })

  it.each(['kubernetes', 'svc'] as const)(
    '[REVIEW-003] also in the beta version, dialect %s',
    async (dialect) => {
      remote.answer = isJane
      await using server = await startApiServer({
        dialect,
        flags: [configFlag(), '--authentication-token-webhook-version=v1beta1'],
      })
      expect((await whoami(server, `beta-${dialect}`)).status).toBe(201)
      expect(reviewsOf(`beta-${dialect}`)).toEqual([
        expect.objectContaining({
          apiVersion: `${server.group('authentication')}/v1beta1`,
          kind: 'TokenReview',
        }),
      ])
    },
  )

  it('[WEBHOOK-004][LIM-007] keep an answer for two minutes, or as long as the flag says', async () => {
    const clock = new FakeClock(Date.now())
    remote.answer = isJane
    await using server = await startApiServer({ clock, flags: [configFlag()] })
    const ask = async (): Promise<number> => {
      expect((await whoami(server, 'cached')).status).toBe(201)
      return reviewsOf('cached').length
    }
    expect(await ask()).toBe(1)
    await clock.step(119_000)
    expect(await ask()).toBe(1)
    await clock.step(2_000)
    expect(await ask()).toBe(2)
    await using short = await startApiServer({
      clock,
      flags: [configFlag(), '--authentication-token-webhook-cache-ttl=10s'],
    })
    expect((await whoami(short, 'short')).status).toBe(201)
    await clock.step(11_000)
    expect((await whoami(short, 'short')).status).toBe(201)
    expect(reviewsOf('short')).toHaveLength(2)
  })

  it('[WEBHOOK-006] send the server’s audiences when it has some of its own', async () => {
    remote.answer = () => ({ status: { authenticated: true, user: jane, audiences: ['b'] } })
    await using server = await startApiServer({ flags: [configFlag(), '--api-audiences=a,b'] })
    expect((await whoami(server, 'audiences')).status).toBe(201)
    expect(reviewsOf('audiences')[0]?.spec).toEqual({ token: 'audiences', audiences: ['a', 'b'] })
    remote.answer = () => ({ status: { authenticated: true, user: jane, audiences: ['c'] } })
    expect((await whoami(server, 'other-audience')).status).toBe(401)
    await using plain = await startApiServer({ flags: [configFlag()] })
    remote.answer = isJane
    expect((await whoami(plain, 'no-audiences')).status).toBe(201)
    expect(reviewsOf('no-audiences')[0]?.spec).toEqual({ token: 'no-audiences' })
  })

  it('[WEBHOOK-013][WEBHOOK-016] name a client configuration, whose current context counts', async () => {
    const other = { name: 'other', context: { cluster: 'nowhere', user: 'server' } }
    const webhook = { name: 'webhook', context: { cluster: 'remote', user: 'server' } }
    remote.answer = isJane
    await using server = await startApiServer({
      flags: [configFlag({ contexts: [other, webhook] })],
    })
    expect((await whoami(server, 'by-context')).status).toBe(201)
    expect(await refused(configFlag({ 'current-context': 'none' }))).toContain(
      'context "none" does not exist',
    )
    expect(await refused(configFlag({ contexts: [{ ...other, name: 'webhook' }] }))).toContain(
      'cluster "nowhere" does not exist',
    )
    const broken = join(folder, 'broken.yaml')
    writeFileSync(broken, 'clusters: [')
    expect(await refused(`--authentication-token-webhook-config-file=${broken}`)).toContain(broken)
    expect(await refused('--authentication-token-webhook-config-file=/no/such/file')).toContain(
      'no such file',
    )
  })

  it('[WEBHOOK-014] believe the remote by its authority alone', async () => {
    await using other = await startReviewRemote()
    const wrong = JSON.parse(
      (await import('node:fs')).readFileSync(other.kubeconfig(folder), 'utf8'),
    ) as { clusters: [{ cluster: Record<string, string> }] }
    const data = wrong.clusters[0].cluster['certificate-authority-data']
    const clusters = [
      { name: 'remote', cluster: { server: remote.url, 'certificate-authority-data': data } },
    ]
    remote.answer = isJane
    const clock = new FakeClock(Date.now())
    await using server = await startApiServer({ clock, flags: [configFlag({ clusters })] })
    const asking = whoami(server, 'wrong-authority')
    // The waits between attempts.
    const stepping = setInterval(() => void clock.step(1000), 5)
    expect((await asking).status).toBe(401)
    clearInterval(stepping)
    expect(reviewsOf('wrong-authority')).toEqual([])
  })

  it('[REVIEW-009] says in a review why a token is bad, and ignores an error beside authenticated', async () => {
    await using server = await startApiServer({ flags: [configFlag()] })
    const path = '/apis/authentication.k8s.io/v1/tokenreviews'
    const review = async (token: string) =>
      (await server.ok('POST', path, { body: { spec: { token } } })).status
    remote.answer = () => ({ status: { authenticated: false, error: 'it is torn' } })
    const torn = await review('bad-token')
    expect(torn.authenticated ?? false).toBe(false)
    expect(torn.error).toContain('it is torn')
    expect((await whoami(server, 'bad-token')).status).toBe(401)
    remote.answer = () => ({ status: { authenticated: true, user: jane, error: 'a rumour' } })
    const good = await review('odd-token')
    expect(good).toMatchObject({
      authenticated: true,
      user: { username: 'jane', extra: jane.extra },
    })
    expect(good).not.toHaveProperty('error')
    expect((await whoami(server, 'odd-token')).user).toMatchObject({ username: 'jane' })
  })

  it('[WEBHOOK-015] show the server’s certificate to the remote', async () => {
    const files = remote.clientFiles(folder)
    remote.answer = isJane
    const user = { 'client-certificate': files.cert, 'client-key': files.key }
    await using server = await startApiServer({
      flags: [configFlag({ users: [{ name: 'server', user }] })],
    })
    expect((await whoami(server, 'with-certificate')).status).toBe(201)
    expect(remote.callers.at(-1)).toBe('the-api-server')
  })
})
