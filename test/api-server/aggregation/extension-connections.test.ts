import { describe, expect, it } from 'vitest'
import type { RemoteApiService } from '../../../components/api-server/aggregation/api-service-table.ts'
import {
  createExtensionConnections,
  type Place,
} from '../../../components/api-server/aggregation/extension-connections.ts'
import { dialects } from '../../../components/api/dialect.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { FakeReader } from '../../support/fake-reader.ts'

const { services, endpoints } = resourcesOf(dialects.kubernetes)

const remote: RemoteApiService = {
  name: 'v1.stats.example.com',
  group: 'stats.example.com',
  version: 'v1',
  service: { namespace: 'apps', name: 'stats', port: 443 },
  ca: undefined,
  insecure: false,
  source: '',
  isAvailable: true,
}

function world(routesToEndpoints: boolean) {
  const reader = new FakeReader()
  let random = 0
  const connections = createExtensionConnections({
    reader,
    services,
    endpoints,
    random: () => random,
    proxyClient: undefined,
    routesToEndpoints,
    dial: undefined,
  })
  const metadata = { namespace: 'apps', name: 'stats' }
  return {
    service: (spec: object) => reader.put(services, { metadata, spec }),
    endpoints: (subsets: object[]) => reader.put(endpoints, { metadata, subsets }),
    placeAt: (at = 0): Place => {
      random = at
      return connections.placeOf(remote)
    },
  }
}

describe('where an extension API server is reached', () => {
  it("is its Service's own address", () => {
    const { service, placeAt } = world(false)
    expect(placeAt).toThrow('service "stats" not found')
    service({ clusterIP: '10.96.0.9', ports: [{ port: 80 }] })
    expect(placeAt).toThrow('no service port 443 found for service "stats"')
    service({ clusterIP: '10.96.0.9', ports: [{ port: 443, targetPort: 8443 }] })
    expect(placeAt()).toEqual({ host: '10.96.0.9', port: 443 })
    service({ type: 'ClusterIP', clusterIP: 'None', ports: [{ port: 443 }] })
    expect(placeAt).toThrow('cannot route to service with ClusterIP "None"')
  })

  it('is any of its endpoints with --enable-aggregator-routing', () => {
    const { service, endpoints: put, placeAt } = world(true)
    service({ clusterIP: '10.96.0.9', ports: [{ name: 'api', port: 443 }] })
    expect(placeAt).toThrow('endpoints "stats" not found')
    put([{ addresses: [{ ip: '10.0.0.1' }], ports: [{ name: 'other', port: 1 }] }])
    expect(placeAt).toThrow('no endpoints available for service "stats"')
    put([
      { addresses: [{ ip: '10.0.0.1' }, { ip: 'fd00::2' }], ports: [{ name: 'api', port: 8443 }] },
    ])
    expect(placeAt(0)).toEqual({ host: '10.0.0.1', port: 8443 })
    expect(placeAt(0.9)).toEqual({ host: 'fd00::2', port: 8443 })
  })

  it.each([true, false])('is the name that the Service stands for (routing %s)', (routes) => {
    const { service, placeAt } = world(routes)
    service({ type: 'ExternalName', externalName: 'stats.example.com' })
    expect(placeAt()).toEqual({ host: 'stats.example.com', port: 443 })
  })
})
