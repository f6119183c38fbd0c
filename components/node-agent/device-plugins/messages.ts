/** The messages that device plugins and agents exchange (upstream: kubelet/pkg/apis/deviceplugin/v1beta1/api.proto). */
import { protobufFields } from '../../component-base/grpc/protobuf-fields.ts'

export interface RegisterRequest {
  readonly version: string
  /** Name of the plugin's socket, in the folder of the agent's. */
  readonly endpoint: string
  readonly resourceName: string
}

export interface Device {
  readonly id: string
  readonly isHealthy: boolean
}

/** The texts of a message by number. */
function textsOf(message: Buffer): ReadonlyMap<number, string> {
  const texts = new Map<number, string>()
  for (const { number, value } of protobufFields(message)) texts.set(number, value.toString())
  return texts
}

export function readRegisterRequest(message: Buffer): RegisterRequest {
  const texts = textsOf(message)
  return {
    version: texts.get(1) ?? '',
    endpoint: texts.get(2) ?? '',
    resourceName: texts.get(3) ?? '',
  }
}

/** A `ListAndWatchResponse`. */
export function readDevices(message: Buffer): Device[] {
  const devices: Device[] = []
  for (const { number, value } of protobufFields(message)) {
    if (number !== 1 || typeof value === 'number') continue
    const texts = textsOf(value)
    devices.push({ id: texts.get(1) ?? '', isHealthy: texts.get(2) === 'Healthy' })
  }
  return devices
}
