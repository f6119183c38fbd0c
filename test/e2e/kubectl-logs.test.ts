/** kubectl logs of simulated pods: followed, cut, timed, of several containers and of the try before. */
import { spawn } from 'node:child_process'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { kubectlFor, requireKubectl } from './kubectl.ts'
import type { Kubectl } from './kubectl.ts'
import { sharedCluster } from './shared-cluster.ts'

const { path, test } = requireKubectl()

function pod(name: string, annotations: Record<string, string>, containers = ['main']): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, annotations, labels: { app: name } },
    spec: { containers: containers.map((one) => ({ name: one, image: 'example.com/app:1' })) },
  })
}

describe('kubectl logs', () => {
  let kubectl: Kubectl
  const children = new Set<ReturnType<typeof spawn>>()

  beforeAll(async () => {
    kubectl = await kubectlFor(await sharedCluster(), { path, namespace: 'logs' })
    await kubectl.withInput(pod('ticking', { 'skiff.dev/log-every': '200ms' })).ok`create -f -`
    await kubectl.withInput(pod('pair', {}, ['one', 'two'])).ok`create -f -`
    await kubectl.withInput(
      pod('short', {
        'skiff.dev/log-every': '300ms',
        'skiff.dev/exit-after': '2s',
        'skiff.dev/exit-code': '3',
      }),
    ).ok`create -f -`
    await kubectl.ok`wait --for=condition=Ready pod/ticking pod/pair --timeout=60s`
  })
  afterAll(() => {
    for (const child of children) child.kill('SIGKILL')
  })

  /** `kubectl logs -f` as a process; what it has said so far, and how it ended. */
  function follow(...words: string[]) {
    const child = spawn(path, ['logs', '-f', ...words], { env: kubectl.env })
    children.add(child)
    let said = ''
    child.stdout.on('data', (data: unknown) => (said += String(data)))
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
    return { said: () => said, ended, stop: () => child.kill('SIGINT') }
  }

  test('-f shows each line when it comes, and Ctrl-C ends it', async () => {
    const { said, ended, stop } = follow('ticking', '--tail=1')
    await eventually(() => expect(said().split('\n').length).toBeGreaterThan(3))
    const numbers = said()
      .split('\n')
      .slice(0, -1) // the last line may not be whole
      .map((line) => Number(/^main line (\d+)$/.exec(line)?.[1]))
    expect(numbers).toEqual(numbers.map((_, index) => (numbers[0] ?? 0) + index))
    stop()
    await ended
  })

  test('-f of a container that ends shows its last line and ends too; --previous shows it afterwards', async () => {
    await eventually(async () => {
      const reading = follow('short')
      expect(await reading.ended).toBe(0)
      expect(reading.said()).toMatch(/^main started \(attempt \d+\)\n[^]*main exited with 3\n$/)
    })
    await eventually(async () => {
      expect(await kubectl.ok`logs short --previous`).toMatch(/main exited with 3$/)
    })
  })

  test('--tail, --since, --timestamps and --limit-bytes choose', async () => {
    expect((await kubectl.ok`logs ticking --tail=2`).split('\n')).toHaveLength(2)
    expect(await kubectl.ok`logs ticking --tail=0`).toBe('')
    expect(await kubectl.ok`logs ticking --limit-bytes=7`).toBe('main st')
    const recent = (await kubectl.ok`logs ticking --since=1s`).split('\n')
    expect(recent.length).toBeLessThanOrEqual(15)
    expect(await kubectl.ok`logs ticking --tail=1 --timestamps`).toMatch(
      /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z main line \d+$/,
    )
  })

  test('of all containers, of one, of a selection', async () => {
    expect(await kubectl.ok`logs pair -c two`).toBe('two started (attempt 0)')
    // It asks for all at once.
    const all = (await kubectl.ok`logs pair --all-containers --prefix`).split('\n')
    expect(all.toSorted()).toEqual([
      '[pod/pair/one] one started (attempt 0)',
      '[pod/pair/two] two started (attempt 0)',
    ])
    expect(await kubectl.ok`logs -l app=pair --all-containers`).toContain('one started')
  })

  test('what cannot be shown is said as upstream says it', async () => {
    const unknown = await kubectl.fails`logs pair -c three`
    expect(unknown.stderr).toContain('container three is not valid for pod pair')
    const previous = await kubectl.fails`logs pair -c one --previous`
    expect(previous.stderr).toBe(
      'Error from server (BadRequest): previous terminated container "one" in pod "pair" not found\n',
    )
    const raw = '/api/v1/namespaces/logs/pods/ticking/log'
    const wrong = await kubectl.fails`get --raw ${`${raw}?tailLines=-1`}`
    expect(wrong.stderr).toContain(
      'PodLogOptions "ticking" is invalid: tailLines: Invalid value: -1: must be greater than or equal to 0',
    )
    const unread = await kubectl.fails`get --raw ${`${raw}?tailLines=x`}`
    expect(unread.stderr).toContain('strconv.ParseInt: parsing "x": invalid syntax')
  })

  test('run shows what a command writes, and ends with its code', async () => {
    const said = await kubectl.ok`run hello --image=busybox --restart=Never --rm -i -- echo hello`
    expect(said).toContain('hello\n')
    expect(said).toContain('pod "hello" deleted')
    const failed =
      await kubectl.fails`run fails --image=busybox --restart=Never --rm -i --command -- sh -c ${'sleep 1; exit 4'}`
    expect(failed.code).toBe(4)
    expect(failed.stderr).toContain('pod logs/fails terminated (Error)')
    await kubectl.ok`run once --image=busybox --restart=Never -- sh -c ${'echo first; sleep 1; echo last'}`
    await kubectl.ok`wait pod/once --for=jsonpath={.status.phase}=Succeeded --timeout=60s`
    expect(await kubectl.ok`logs once`).toBe('first\nlast')
  })
})
