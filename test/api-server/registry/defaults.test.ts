/** What the server fills in, kind by kind, against a snapshot of this release: test/cases/schemas/defaults-1.32.txt; `-u` rewrites it. */
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { samples } from '../../support/one-of-each.ts'
import { sharedServer } from '../../support/shared-server.ts'

const snapshot = join(import.meta.dirname, '../../cases/schemas/defaults-1.32.txt')
/** Fields that differ from run to run, and texts in others that do. */
const varying =
  /^(metadata\.(uid|resourceVersion|managedFields)|.*(clusterIPs?|credential-id\.0|nodePort)\b|spec\.request\b)/
const stable = (leaf: string): string =>
  leaf
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/, 'UID')
    .replace(/\d{4}-\d\d-\d\dT[0-9:.]+Z/, 'TIME')
    .replace(/(kube-api-access)-\w+/, '$1')

/** `path=JSON`, one leaf each; empty lists and objects are leaves. */
function leaves(value: unknown, path = ''): string[] {
  if (typeof value === 'object' && value !== null && Object.keys(value).length > 0) {
    return Object.entries(value).flatMap(([key, one]) =>
      leaves(one, path === '' ? key : `${path}.${key}`),
    )
  }
  return [`${path}=${JSON.stringify(value)}`]
}

describe('defaults', () => {
  const server = sharedServer()

  it('[VER-025] no default inside a version changes', async () => {
    const namespace = await server().namespace('defaults')
    const lines: string[] = []
    for (const { path, body } of samples(server(), namespace)) {
      const made: unknown = await server().ok('POST', `${path}?dryRun=All`, { body })
      const given = new Set(leaves(body))
      const filled = leaves(made).filter((leaf) => !given.has(leaf) && !varying.test(leaf))
      lines.push(path, ...filled.map((leaf) => `  ${stable(leaf)}`))
    }
    expect(lines.length).toBeGreaterThan(200)
    await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(snapshot)
  })
})
