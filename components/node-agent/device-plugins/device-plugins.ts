/**
 * DevicePlugins: plugins register at the agent's socket and tell their devices, which the node then has as resources
 * (upstream: kubelet/cm/devicemanager). Nothing is handed to containers: they are simulated.
 */
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Dialect } from '../../api/dialect.ts'
import { supportedDevicePluginVersions } from '../../api/lifecycles/device-plugin-api.ts'
import { messageOf, type Log } from '../../component-base/log.ts'
import { qualifiedName } from '../../machinery/validation/names.ts'
import { GrpcError, readGrpcStream, serveGrpc } from './grpc.ts'
import { readDevices, readRegisterRequest, type Device, type RegisterRequest } from './messages.ts'

const unknownCode = 2

/** How many devices of a resource there are, and how many of them work. */
export interface DeviceCount {
  readonly capacity: number
  readonly healthy: number
}

export interface DevicePlugins {
  /** By resource, of every plugin that ever registered with this process. */
  resources(): ReadonlyMap<string, DeviceCount>
  /** Serves registrations until the signal aborts. A folder that cannot be used is logged: the node works without. */
  run(signal: AbortSignal): Promise<void>
}

function refuse(message: string): never {
  throw new GrpcError(unknownCode, message)
}

/** Throws upstream's words for what it does not take. */
function checkRegistration(request: RegisterRequest, dialect: Dialect): void {
  const { version, endpoint, resourceName } = request
  if (!supportedDevicePluginVersions.includes(version)) {
    const supported = supportedDevicePluginVersions.map((one) => `"${one}"`).join(' ')
    refuse(
      `requested API version "${version}" is not supported by kubelet. Supported version is [${supported}]`,
    )
  }
  const [domain = '', name] = resourceName.split('/')
  const isOwn = domain === dialect.labelDomain || domain.endsWith(`.${dialect.labelDomain}`)
  if (name === undefined || isOwn || qualifiedName(resourceName).length > 0) {
    refuse(`the ResourceName "${resourceName}" is invalid`)
  }
  if (endpoint === '' || endpoint.includes('/')) refuse(`the Endpoint "${endpoint}" is invalid`)
}

export function createDevicePlugins(options: {
  /** Its socket and those of the plugins are here. */
  readonly folder: string
  readonly dialect: Dialect
  readonly onChange: () => void
  readonly log: Log
}): DevicePlugins {
  const { folder, dialect, onChange, log } = options
  const devices = new Map<string, readonly Device[]>()
  const following = new Map<string, AbortController>()

  const follow = async (request: RegisterRequest, signal: AbortSignal): Promise<void> => {
    const { endpoint, resourceName } = request
    const update = (list: readonly Device[]): void => {
      devices.set(resourceName, list)
      onChange()
    }
    try {
      await readGrpcStream(
        {
          path: join(folder, endpoint),
          method: `/${request.version}.DevicePlugin/ListAndWatch`,
          message: Buffer.alloc(0),
          onMessage: (message) => update(readDevices(message)),
        },
        signal,
      )
      log.info('a device plugin ended', { resource: resourceName })
    } catch (error) {
      log.warn('a device plugin cannot be reached', {
        resource: resourceName,
        why: messageOf(error),
      })
    }
    if (signal.aborted) return
    update((devices.get(resourceName) ?? []).map(({ id }) => ({ id, isHealthy: false })))
  }

  const register = (message: Buffer, signal: AbortSignal): Buffer => {
    const request = readRegisterRequest(message)
    checkRegistration(request, dialect)
    const { resourceName, endpoint } = request
    log.info('a device plugin registered', { resource: resourceName, endpoint })
    following.get(resourceName)?.abort()
    const own = new AbortController()
    following.set(resourceName, own)
    void follow(request, AbortSignal.any([signal, own.signal]))
    return Buffer.alloc(0)
  }

  return {
    resources: () =>
      new Map(
        [...devices].map(([name, list]) => {
          const healthy = list.filter(({ isHealthy }) => isHealthy).length
          return [name, { capacity: list.length, healthy }]
        }),
      ),
    run: async (signal) => {
      const path = join(folder, 'kubelet.sock')
      const methods = Object.fromEntries(
        supportedDevicePluginVersions
          .concat('v1alpha1')
          .map((version) => [
            `/${version}.Registration/Register`,
            (message: Buffer) => register(message, signal),
          ]),
      )
      try {
        await mkdir(folder, { recursive: true, mode: 0o750 })
        // Left by an agent that was killed.
        await rm(path, { force: true })
        await serveGrpc({ path, methods, log }, signal)
      } catch (error) {
        if (signal.aborted) return
        log.warn('device plugins cannot register', { folder, why: messageOf(error) })
      }
    },
  }
}
