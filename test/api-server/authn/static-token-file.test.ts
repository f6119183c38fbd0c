import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { systemClock, type Clock } from '../../../components/component-base/clock.ts'
import { parseStaticTokens } from '../../../components/api-server/authn/static-token-file.ts'
import { startApiServer } from '../../support/api-server.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { whoami } from '../../support/whoami.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const folder = temporaryFolder('static-tokens')

let files = 0
function fileOf(...lines: string[]): string {
  files += 1
  const path = join(folder, `tokens-${files}.csv`)
  writeFileSync(path, `${lines.join('\n')}\n`)
  return path
}

async function refusedStart(path: string): Promise<string> {
  return await startApiServer({ flags: [`--token-auth-file=${path}`] }).then(
    async (server) => {
      await server[Symbol.asyncDispose]()
      return 'started'
    },
    (error: unknown) => (error as Error).message,
  )
}

describe('the file of --token-auth-file', () => {
  it('[AUTHN-012][AUTHN-014] names users, their uids and groups by token', async () => {
    const path = fileOf(
      't1,jane,1,"g1,g2"',
      't2,joe,2,g1,g2',
      't3,"Doe, ""John""",3',
      '',
      '"t,4",quoted,4,""',
    )
    await using server = await startApiServer({ flags: [`--token-auth-file=${path}`] })
    const userOf = async (token: string) => (await whoami(server, token)).user
    const groups = ['g1', 'g2', 'system:authenticated']
    expect(await userOf('t1')).toEqual({ username: 'jane', uid: '1', groups })
    expect(await userOf('t2')).toEqual({ username: 'joe', uid: '2', groups })
    expect(await userOf('t3')).toMatchObject({ username: 'Doe, "John"' })
    expect(await userOf('t,4')).toMatchObject({ username: 'quoted' })
    for (const bad of ['t', 't11', 'T1', 'jane', 't4', 'x'.repeat(30_000)]) {
      expect([bad.length, (await whoami(server, bad)).status]).toEqual([bad.length, 401])
    }
  })

  it('[REVIEW-005] its tokens are for this server, so a review for others alone does not know them', async () => {
    const path = fileOf('t1,jane,1')
    await using server = await startApiServer({
      flags: [`--token-auth-file=${path}`, '--api-audiences=here,there'],
    })
    const review = async (audiences?: string[]) => {
      const { status } = await server.ok(
        'POST',
        `/apis/${server.group('authentication')}/v1/tokenreviews`,
        { body: { spec: { token: 't1', audiences } } },
      )
      const { authenticated = false, audiences: shared } = status as {
        authenticated?: boolean
        audiences?: string[]
      }
      return { authenticated, shared }
    }
    expect(await review()).toEqual({ authenticated: true, shared: ['here', 'there'] })
    expect(await review(['vault', 'there'])).toEqual({ authenticated: true, shared: ['there'] })
    expect(await review(['vault'])).toEqual({ authenticated: false, shared: undefined })
  })

  it('[AUTHN-013] has three columns at least', async () => {
    await using server = await startApiServer({
      flags: [`--token-auth-file=${fileOf('t1,jane,1')}`],
    })
    expect((await whoami(server, 't1')).user).toEqual({
      username: 'jane',
      uid: '1',
      groups: ['system:authenticated'],
    })
    const path = fileOf('t1,jane,1', 'secret,joe')
    const message = await refusedStart(path)
    expect(message).toBe(
      `--token-auth-file: ${path}: record 2: must have at least 3 columns (token, user name, user uid), found 2`,
    )
    expect(message).not.toContain('secret')
  })

  it('[AUTHN-015] holds tokens that do not expire', async () => {
    let aheadMs = 0
    const clock: Clock = { ...systemClock, now: () => systemClock.now() + aheadMs }
    await using server = await startApiServer({
      clock,
      flags: [`--token-auth-file=${fileOf('t1,jane,1')}`],
    })
    expect((await whoami(server, 't1')).status).toBe(201)
    aheadMs = 10 * 365 * 86_400_000
    expect((await whoami(server, 't1')).user?.username).toBe('jane')
  })

  it('[AUTHN-016] is read at start only', async () => {
    const path = fileOf('t1,jane,1')
    const clock = new FakeClock(Date.now())
    await using server = await startApiServer({ clock, flags: [`--token-auth-file=${path}`] })
    writeFileSync(path, 't1,jane,1\nt2,joe,2\n')
    await clock.step(300_000)
    expect((await whoami(server, 't2')).status).toBe(401)
    await server.restart()
    expect((await whoami(server, 't2')).user?.username).toBe('joe')
  })

  it('is refused with the place of its fault, and never with a token', () => {
    expect(() => parseStaticTokens('t1,jane,1\n"t2,x,1\n')).toThrow(
      'line 2: a quote is out of place',
    )
    expect(() => parseStaticTokens(',jane,1')).toThrow('record 1: the token is empty')
    expect(() => parseStaticTokens('t1,,1')).toThrow('record 1: the user name is empty')
  })
})
