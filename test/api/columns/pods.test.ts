import { describe, expect, it } from 'vitest'
import { ago, rowOf } from './rows.ts'

const two = { containers: [{ name: 'a' }, { name: 'b' }] }
const up = { ready: true, state: { running: {} } }

function shown(pod: { metadata?: object; spec?: object; status?: object }): string {
  const row = rowOf('pods', { spec: two, ...pod })
  return [row['Ready'], row['Status'], row['Restarts']].join(' ')
}

describe('pod rows', () => {
  it('show the phase until containers say more', () => {
    expect(shown({ status: { phase: 'Pending' } })).toBe('0/2 Pending 0')
    expect(shown({ status: { phase: 'Failed', reason: 'Evicted' } })).toBe('0/2 Evicted 0')
    expect(
      shown({
        status: {
          phase: 'Pending',
          conditions: [{ type: 'PodScheduled', status: 'False', reason: 'SchedulingGated' }],
        },
      }),
    ).toBe('0/2 SchedulingGated 0')
  })

  it('count ready containers and restarts, and say when the last one was', () => {
    expect(
      shown({
        status: {
          phase: 'Running',
          containerStatuses: [
            { ...up, restartCount: 2, lastState: { terminated: { finishedAt: ago(300) } } },
            { ...up, restartCount: 1, lastState: { terminated: { finishedAt: ago(4000) } } },
          ],
        },
      }),
    ).toBe('2/2 Running 3 (5m ago)')
  })

  it('show the first container in trouble', () => {
    expect(
      shown({
        status: {
          phase: 'Running',
          containerStatuses: [
            { restartCount: 4, state: { waiting: { reason: 'CrashLoopBackOff' } } },
            { state: { waiting: { reason: 'ImagePullBackOff' } } },
          ],
        },
      }),
    ).toBe('0/2 CrashLoopBackOff 4')
    const ended = (terminated: object) =>
      shown({ status: { phase: 'Running', containerStatuses: [{ state: { terminated } }] } })
    expect(ended({ exitCode: 0, reason: 'Completed' })).toBe('0/2 Completed 0')
    expect(ended({ exitCode: 3 })).toBe('0/2 ExitCode:3 0')
    expect(ended({ exitCode: 137, signal: 9 })).toBe('0/2 Signal:9 0')
  })

  it('are Running or NotReady when only some containers have completed', () => {
    const containerStatuses = [{ state: { terminated: { exitCode: 0, reason: 'Completed' } } }, up]
    expect(shown({ status: { phase: 'Running', containerStatuses } })).toBe('1/2 NotReady 0')
    const conditions = [{ type: 'Ready', status: 'True' }]
    expect(shown({ status: { phase: 'Running', containerStatuses, conditions } })).toBe(
      '1/2 Running 0',
    )
  })

  describe('with init containers', () => {
    const spec = { ...two, initContainers: [{ name: 'i' }, { name: 'j' }] }
    const init = (...initContainerStatuses: object[]) =>
      shown({ spec, status: { phase: 'Pending', initContainerStatuses } })

    it('show how far initialisation has come', () => {
      expect(init({ name: 'i', state: { running: {} } })).toBe('0/2 Init:0/2 0')
      expect(
        init(
          { name: 'i', state: { terminated: { exitCode: 0 } } },
          { name: 'j', restartCount: 1, state: { waiting: { reason: 'PodInitializing' } } },
        ),
      ).toBe('0/2 Init:1/2 1')
      expect(init({ name: 'i', state: { waiting: { reason: 'ErrImagePull' } } })).toBe(
        '0/2 Init:ErrImagePull 0',
      )
    })

    it('show how one has failed', () => {
      const failed = (terminated: object) => init({ name: 'i', state: { terminated } })
      expect(failed({ exitCode: 1, reason: 'Error' })).toBe('0/2 Init:Error 0')
      expect(failed({ exitCode: 2 })).toBe('0/2 Init:ExitCode:2 0')
      expect(failed({ exitCode: 137, signal: 9 })).toBe('0/2 Init:Signal:9 0')
    })

    it('forget their restarts once the pod is initialised', () => {
      expect(
        shown({
          spec,
          status: {
            phase: 'Running',
            initContainerStatuses: [
              { name: 'i', restartCount: 5, state: { terminated: { exitCode: 0 } } },
              { name: 'j', state: { terminated: { exitCode: 0 } } },
            ],
            containerStatuses: [up, up],
          },
        }),
      ).toBe('2/2 Running 0')
    })

    it('count a sidecar as a container, with its restarts', () => {
      const sidecar = {
        ...two,
        initContainers: [{ name: 's', restartPolicy: 'Always' }, { name: 'i' }],
      }
      const started = { ...up, name: 's', started: true, restartCount: 2 }
      expect(
        shown({
          spec: sidecar,
          status: {
            phase: 'Pending',
            initContainerStatuses: [started, { name: 'i', state: { running: {} } }],
          },
        }),
      ).toBe('1/3 Init:1/2 2')
      expect(
        shown({
          spec: sidecar,
          status: {
            phase: 'Running',
            initContainerStatuses: [
              { ...started, lastState: { terminated: { finishedAt: ago(60) } } },
              { name: 'i', restartCount: 7, state: { terminated: { exitCode: 0 } } },
            ],
            containerStatuses: [up, up],
          },
        }),
      ).toBe('3/3 Running 2 (60s ago)')
    })
  })

  it('are Terminating while they are deleted, Unknown on a lost node, and stay what they were when done', () => {
    const metadata = { deletionTimestamp: ago(1) }
    expect(shown({ metadata, status: { phase: 'Running' } })).toBe('0/2 Terminating 0')
    expect(shown({ metadata, status: { phase: 'Running', reason: 'NodeLost' } })).toBe(
      '0/2 Unknown 0',
    )
    expect(shown({ metadata, status: { phase: 'Succeeded' } })).toBe('0/2 Succeeded 0')
  })

  it('have where they run and their gates in wide output', () => {
    const row = rowOf('pods', {
      spec: { nodeName: 'n1', readinessGates: [{ conditionType: 'a' }, { conditionType: 'b' }] },
      status: {
        podIPs: [{ ip: '10.0.0.7' }],
        nominatedNodeName: 'n2',
        conditions: [{ type: 'b', status: 'True' }],
      },
    })
    expect(row).toMatchObject({
      Name: 'x',
      Age: '5m',
      IP: '10.0.0.7',
      Node: 'n1',
      'Nominated Node': 'n2',
      'Readiness Gates': '1/2',
    })
    expect(rowOf('pods', {})).toMatchObject({
      IP: '<none>',
      Node: '<none>',
      'Nominated Node': '<none>',
      'Readiness Gates': '<none>',
    })
  })
})
