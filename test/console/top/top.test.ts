/** `skiff top` as a process in a pseudo terminal, on a real API server. */
import { join } from 'node:path'
import { beforeAll, describe, expect } from 'vitest'
import { builtOnce } from '../../e2e/built.ts'
import { admin, startApiServer, user } from '../../support/api-server.ts'
import { eventually } from '../../support/eventually.ts'
import { requireParts } from '../../support/require-parts.ts'
import { sharedServer } from '../../support/shared-server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { writeKubeconfig } from '../../support/test-kubeconfig.ts'
import { skiff } from '../terminal/run-command.ts'
import { openPseudoTerminal, terminalHindrance, type PseudoTerminal } from './pseudo-terminal.ts'

const test = requireParts('skiff top in a pseudo terminal', terminalHindrance)
const command = join(import.meta.dirname, '..', '..', '..', 'bin', 'skiff.js')

describe('skiff top', () => {
  const server = sharedServer()
  const folder = temporaryFolder('top')
  const kubeconfig = join(folder, 'admin')

  const top = (...words: string[]): PseudoTerminal =>
    openPseudoTerminal({
      command: [process.execPath, command, 'top', '--kubeconfig', kubeconfig, ...words],
      environment: { HOME: folder, XDG_STATE_HOME: folder, NO_COLOR: '1' },
    })

  const addPod = async (name: string): Promise<void> => {
    const spec = { nodeName: 'n1', containers: [{ name: 'app', image: 'app' }] }
    const body = { metadata: { name }, spec }
    await server().ok('POST', '/api/v1/namespaces/shop/pods', { body })
  }

  /** The last of the sequences that show or hide the cursor shows it. */
  const showsCursor = (written: string): boolean =>
    written.lastIndexOf('\u001b[?25h') > written.lastIndexOf('\u001b[?25l')

  const left = async (terminal: PseudoTerminal, code: number): Promise<void> => {
    expect(await terminal.ended).toEqual({ code, isRestored: true })
    await eventually(() => expect(terminal.isFullScreen).toBe(false))
    expect(showsCursor(terminal.written)).toBe(true)
  }

  beforeAll(async () => {
    await builtOnce()
    writeKubeconfig(kubeconfig, server(), admin)
    await server().namespace('shop')
    await server().ok('POST', '/api/v1/nodes', { body: { metadata: { name: 'n1' } } })
    await addPod('first')
  })

  test('shows nodes and pods, follows changes, and leaves the terminal as it was at q', async () => {
    await using terminal = top()
    await terminal.shows(/> n1 +Unknown/)
    await terminal.shows('shop/first')
    expect(terminal.isFullScreen).toBe(true)
    await addPod('second')
    await terminal.shows('shop/second')
    await server().ok('DELETE', '/api/v1/namespaces/shop/pods/second?gracePeriodSeconds=0')
    await terminal.shows(/Pods \(1\)/)
    await terminal.shows(/200 +delete +pods shop\/second +admin/)
    terminal.type('q')
    await left(terminal, 0)
  })

  test('takes keys: panes, filter, details', async () => {
    await using terminal = top()
    await terminal.shows('shop/first')
    terminal.type('\t')
    await terminal.shows('▶ Pods')
    terminal.type('/nothing')
    await terminal.shows(/Pods \(0 of \d+\) .*filter: nothing/)
    terminal.type('\u001b')
    await terminal.shows('shop/first')
    terminal.type('\r')
    await terminal.shows('pods shop/first  (escape closes)')
    await terminal.shows('kind: Pod')
    terminal.type('\u0003')
    await left(terminal, 130)
  })

  test('draws itself anew when the terminal is resized', async () => {
    await using terminal = top()
    await terminal.shows('  Events')
    terminal.resize(12, 60)
    await eventually(() => {
      const text = terminal.rows().join('\n')
      expect(text).toContain('▶ Nodes')
      expect(text).not.toContain('Events')
    })
    terminal.resize(40, 140)
    await terminal.shows('  Events')
    expect(terminal.rows()[0]).toMatch(/^skiff top /)
    terminal.type('q')
    await left(terminal, 0)
  })

  test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    'restores the terminal at %s',
    async (name) => {
      await using terminal = top()
      await terminal.shows('shop/first')
      terminal.signal(name)
      await left(terminal, name === 'SIGHUP' ? -1 : 130)
    },
  )

  test('says what a user may not see', async () => {
    const eve = join(folder, 'eve')
    writeKubeconfig(eve, server(), user('eve'))
    await using terminal = top('--kubeconfig', eve)
    await terminal.shows('pods cannot be read: pods is forbidden: User "eve" cannot list')
    terminal.type('q')
    await left(terminal, 0)
  })

  test('says that the cluster does not answer, and ends when that lasts', async () => {
    await using mortal = await startApiServer()
    const file = join(folder, 'mortal')
    writeKubeconfig(file, mortal, admin)
    await using terminal = top('--kubeconfig', file, '--lost-after', '2s')
    await terminal.shows('0/0 nodes Ready')
    await mortal.stop()
    await terminal.shows('The cluster has not answered for')
    await left(terminal, 1)
    await terminal.shows(/error: https:.* has not answered for 2s/)
  })

  test('prints the panes once without a terminal', async () => {
    const { code, out } = await skiff('top', '--kubeconfig', kubeconfig)
    expect(code).toBe(0)
    expect(out).toMatch(/^Nodes \(1\)\nNODE +STATE .*\nn1 +Unknown /)
    expect(out).toMatch(/\nPods \(\d+\)\n/)
    const { out: json } = await skiff('top', '--once', '-o', 'json', '--kubeconfig', kubeconfig)
    expect(JSON.parse(json)).toMatchObject({
      nodes: [{ name: 'n1', ready: 'Unknown' }],
      pods: [{ key: 'shop/first', node: 'n1' }],
    })
  })
})
