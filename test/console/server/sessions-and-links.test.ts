/** Links and sessions of the console: who gets in, and for how long. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createConsoleLink } from '../../../cluster/console-link.ts'
import { createLinkKeys } from '../../../console/server/links.ts'
import { createSessions } from '../../../console/server/sessions.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const secret = 'secret-of-a-test'
const minuteMs = 60_000

function keyOf(link: string): string {
  return new URL(link).searchParams.get('key') ?? ''
}

function newKey(clock: FakeClock, signedWith = secret): string {
  return keyOf(createConsoleLink({ host: '127.0.0.1', port: 1, secret: signedWith }, clock))
}

describe('a link', () => {
  test('opens the console once', () => {
    const clock = new FakeClock()
    const keys = createLinkKeys(secret, clock)
    const key = newKey(clock)
    expect(keys.redeem(key)).toBe(true)
    expect(keys.redeem(key)).toBe(false)
  })

  test('holds for ten minutes', async () => {
    const clock = new FakeClock()
    const keys = createLinkKeys(secret, clock)
    const [early, late] = [newKey(clock), newKey(clock)]
    await clock.step(10 * minuteMs - 1)
    expect(keys.redeem(early)).toBe(true)
    await clock.step(1)
    expect(keys.redeem(late)).toBe(false)
  })

  test('of another console is refused', () => {
    const clock = new FakeClock()
    expect(createLinkKeys(secret, clock).redeem(newKey(clock, 'another'))).toBe(false)
  })

  test('with any change to its key is refused, and does not use the key up', () => {
    const clock = new FakeClock()
    const keys = createLinkKeys(secret, clock)
    const key = newKey(clock)
    fc.assert(
      fc.property(fc.nat(key.length - 1), fc.string({ minLength: 1, maxLength: 1 }), (at, text) => {
        const changed = key.slice(0, at) + text + key.slice(at + 1)
        // The last character of base64url has spare bits: another one may stand for the same bytes.
        fc.pre(changed !== key && at < key.length - 1)
        expect(keys.redeem(changed)).toBe(false)
      }),
    )
    expect(keys.redeem(key)).toBe(true)
  })

  test('is refused whatever its key looks like', () => {
    const keys = createLinkKeys(secret, new FakeClock())
    fc.assert(fc.property(fc.string({ maxLength: 300 }), (text) => !keys.redeem(text)))
  })
})

describe('a session', () => {
  const cookieOf = (setCookie: string): string => setCookie.split(';')[0] ?? ''

  test('is known by its cookie among others, for twelve hours', async () => {
    const clock = new FakeClock()
    const sessions = createSessions('id', clock)
    const cookie = cookieOf(sessions.begin())
    expect(sessions.isOpen(`other=1; ${cookie}; more=2`)).toBe(true)
    await clock.step(12 * 60 * minuteMs)
    expect(sessions.isOpen(cookie)).toBe(false)
  })

  test('has a cookie that no script reads and no other site sends', () => {
    const setCookie = createSessions('id', new FakeClock()).begin()
    expect(setCookie).toMatch(/; HttpOnly; SameSite=Strict; Path=\//)
  })

  test('of another console, or without a cookie, is not open', () => {
    const clock = new FakeClock()
    const sessions = createSessions('id', clock)
    expect(sessions.isOpen(cookieOf(createSessions('id', clock).begin()))).toBe(false)
    expect(sessions.isOpen(undefined)).toBe(false)
    expect(sessions.isOpen('skiff-console-id=')).toBe(false)
  })

  test('ends when a hundred newer ones have begun', () => {
    const sessions = createSessions('id', new FakeClock())
    const first = cookieOf(sessions.begin())
    for (let at = 0; at < 99; at += 1) sessions.begin()
    expect(sessions.isOpen(first)).toBe(true)
    sessions.begin()
    expect(sessions.isOpen(first)).toBe(false)
  })
})
