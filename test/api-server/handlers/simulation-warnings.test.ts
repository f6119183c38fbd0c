/** Ignored annotations of the simulation: the answer carries a warning. */
import { expect, it } from 'vitest'
import { describeDialects } from '../../support/shared-server.ts'
import { warningsOf } from '../../support/warning-headers.ts'

const containers = [{ name: 'web', image: 'app:1' }]
const merge = { 'content-type': 'application/merge-patch+json' }

describeDialects('annotations of simulated pods and nodes', (server) => {
  const podWith = async (annotations: Record<string, string>) => {
    const path = `/api/v1/namespaces/${await server().namespace()}/pods`
    const body = { metadata: { name: 'p', annotations }, spec: { containers } }
    return warningsOf(await server().request('POST', path, { body }))
  }

  it('a pod with good ones, or with those of others, is created without a warning', async () => {
    const annotations = {
      'skiff.dev/exit-after': '5s',
      'skiff.dev/exit-code.web': '3',
      'example.com/exit-aftr': '5s',
    }
    expect(await podWith(annotations)).toEqual([])
  })

  it.each([
    [
      { 'skiff.dev/exit-aftr': '5s' },
      'metadata.annotations[skiff.dev/exit-aftr]: ignored: unknown annotation; did you mean "skiff.dev/exit-after"?',
    ],
    [
      { 'skiff.dev/exit-after': 'soon' },
      'metadata.annotations[skiff.dev/exit-after]: ignored: invalid value "soon": must be a time such as 500ms, 5s or 1m30s',
    ],
    [
      { 'skiff.dev/liveness.wbe': 'fail' },
      'metadata.annotations[skiff.dev/liveness.wbe]: ignored: no container is named "wbe"; did you mean "web"?',
    ],
  ])('a pod with %j is created with one', async (annotations, warning) => {
    expect(await podWith(annotations)).toEqual([warning])
  })

  it('a template is treated as a pod, and its workload is not one', async () => {
    const path = `/apis/apps/v1/namespaces/${await server().namespace()}/deployments`
    const labels = { app: 'web' }
    const wrong = { 'skiff.dev/start': 'never' }
    const body = {
      metadata: { name: 'd', annotations: { 'skiff.dev/exit-after': '5s' } },
      spec: {
        selector: { matchLabels: labels },
        template: { metadata: { labels, annotations: wrong }, spec: { containers } },
      },
    }
    expect(warningsOf(await server().request('POST', path, { body }))).toEqual([
      'metadata.annotations[skiff.dev/exit-after]: ignored: this annotation is for pods; set it in spec.template.metadata.annotations',
      'spec.template.metadata.annotations[skiff.dev/start]: ignored: invalid value "never": must be fail or image-pull-error',
    ])
  })

  it('an update of a node is answered with one about what it changes', async () => {
    await server().ok('POST', '/api/v1/nodes', { body: { metadata: { name: 'n' } } })
    const annotate = async (annotations: Record<string, string>) => {
      const body = { metadata: { annotations } }
      return warningsOf(
        await server().request('PATCH', '/api/v1/nodes/n', { body, headers: merge }),
      )
    }
    expect(await annotate({ 'skiff.dev/disk-presure': 'true' })).toEqual([
      'metadata.annotations[skiff.dev/disk-presure]: ignored: unknown annotation; did you mean "skiff.dev/disk-pressure"?',
    ])
    expect(await annotate({ 'skiff.dev/memory-pressure': 'yes' })).toEqual([
      'metadata.annotations[skiff.dev/memory-pressure]: ignored: invalid value "yes": must be true or false',
    ])
    expect(await annotate({ 'skiff.dev/runtime-down': 'the disk is gone' })).toEqual([])
  })

  it('thousands of them are answered with the first twenty', async () => {
    const many = Array.from({ length: 3000 }, (_, index) => [`skiff.dev/nonsense-${index}`, 'x'])
    expect(await podWith(Object.fromEntries(many))).toHaveLength(20)
  })
})
