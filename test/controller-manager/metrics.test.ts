/** The metrics of a controller manager in a process of its own, as its listener shows them. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Node } from '../../components/api/generated/types.ts'
import { startApiServer } from '../support/api-server.ts'
import type { TestApiServer } from '../support/api-server.ts'
import { componentProcesses } from '../support/component-process.ts'
import { eventually } from '../support/eventually.ts'

let server: TestApiServer
beforeAll(async () => {
  server = await startApiServer()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

it('a controller manager counts its own requests and those of its controllers, and shows which controllers run', async () => {
  const managers = await componentProcesses(server, 'controller-manager')
  const flags = [
    '--controllers=node-ipam-controller',
    '--allocate-node-cidrs=true',
    '--cluster-cidr=10.244.0.0/16',
    '--use-service-account-credentials=true',
  ]
  await server.ok('POST', '/api/v1/nodes', { body: { metadata: { name: 'n1' } } })
  await managers.during(flags, async (show) => {
    await eventually(async () => {
      const { spec } = (await server.ok('GET', '/api/v1/nodes/n1')) as Node
      expect(spec?.podCIDRs).toEqual(['10.244.0.0/24'])
    })
    const text = await show('/metrics')
    expect(text).toContain(
      'running_managed_controllers{name="nodeipam",manager="kube-controller-manager"} 1\n',
    )
    const host = `host="127.0.0.1:${server.port}"`
    // The patch of the node goes over the connection of the controllers.
    expect(text).toContain(`rest_client_requests_total{code="200",method="PATCH",${host}} 1\n`)
    expect(text).toContain(`rest_client_request_duration_seconds_count{verb="PATCH",${host}} 1\n`)
    // The account and its token come by that of the manager, which also lists and watches nodes.
    expect(text).toMatch(
      new RegExp(`^rest_client_requests_total\\{code="201",method="POST",${host}\\} [2-9]`, 'm'),
    )
    expect(text).toMatch(
      new RegExp(`^rest_client_requests_total\\{code="200",method="GET",${host}\\} [1-9]`, 'm'),
    )
    expect(text).not.toContain('resourceclaim_controller_resource_claims')
  })
})
