/** `skiff graph` on a real API server, by a kubeconfig. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { exitCodes } from '../../../cluster/cli/exit-codes.ts'
import { admin } from '../../support/api-server.ts'
import { sharedServer } from '../../support/shared-server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { writeKubeconfig } from '../../support/test-kubeconfig.ts'
import { parseSvg } from '../graph/parse-svg.ts'
import { skiff, type Ran } from './run-command.ts'

describe('skiff graph', () => {
  const server = sharedServer()
  const folder = temporaryFolder('graph')
  const graph = async (...words: string[]): Promise<Ran> =>
    await skiff('graph', ...words, '--kubeconfig', join(folder, 'admin'))

  beforeAll(async () => {
    writeKubeconfig(join(folder, 'admin'), server(), admin)
    await server().namespace('shop')
    await server().ok('POST', '/api/v1/nodes', { body: { metadata: { name: 'n1' } } })
    const spec = { nodeName: 'n1', containers: [{ name: 'app', image: 'app' }] }
    await server().ok('POST', '/api/v1/namespaces/shop/pods', {
      body: { metadata: { name: 'web' }, spec },
    })
  })

  it('writes the cluster as SVG to standard output', async () => {
    const { code, out, err } = await graph()
    expect([code, err]).toEqual([exitCodes.ok, ''])
    const { texts } = parseSvg(out)
    expect(texts).toEqual(expect.arrayContaining(['API server', 'n1', 'Pod shop/web', 'Pending']))
    expect((await graph('cluster')).out).toBe(out)
  })

  it('takes the format from the name of the file', async () => {
    const file = join(folder, 'web.mmd')
    expect(await graph('pod/web', '-n', 'shop', '-o', file)).toMatchObject({ out: `${file}\n` })
    expect(readFileSync(file, 'utf8')).toMatch(/^graph LR\n {2}o1\["Pod\/web<br\/>Pending"\]/)
    const { out } = await graph('pod', 'web', '-n', 'shop', '--format', 'svg')
    expect(parseSvg(out).texts).toEqual(['pod web', 'Pod/web', 'Pending'])
  })

  it('draws the report of a scenario without a cluster', async () => {
    const file = join(folder, 'report.json')
    const step = {
      title: 'x',
      kind: 'create',
      outcome: 'passed',
      durationMs: 1,
      notes: [],
      failure: [],
    }
    const scenario = { name: 's', outcome: 'passed', steps: [step] }
    writeFileSync(file, JSON.stringify({ scenarios: [scenario] }))
    const { code, out } = await skiff('graph', 'scenario', file)
    expect(code).toBe(exitCodes.ok)
    expect(parseSvg(out).texts).toContain('✓ x')
  })

  it('says what is wrong with its arguments', async () => {
    expect(await graph('-o', 'json')).toMatchObject({
      code: exitCodes.usage,
      err: 'error: cannot tell the format of "json"\nhint: name the file .svg or .mmd, or pass --format\n',
    })
    expect(await graph('scenario')).toMatchObject({ code: exitCodes.usage })
    expect(await graph('pod')).toMatchObject({ code: exitCodes.usage })
    expect(await graph('scenario', join(folder, 'nope'))).toMatchObject({
      code: exitCodes.failed,
      err: `error: ${join(folder, 'nope')}: no such file or directory\nhint: check the path\n`,
    })
    expect(await graph('-o', join(folder, 'no', 'x.svg'))).toMatchObject({ code: exitCodes.failed })
  })
})
