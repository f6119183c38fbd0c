/** The messages that device plugins and agents exchange (upstream: kubelet/pkg/apis/deviceplugin/v1beta1/api.proto). */

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

const lengthDelimited = 2

/** The length-delimited fields of a message, in order; all others are passed over. Throws for what is no message. */
function* fieldsOf(message: Buffer): Generator<{ number: number; value: Buffer }> {
  let at = 0
  const varint = (): number => {
    let value = 0
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = message[at]
      if (byte === undefined) break
      at += 1
      value += (byte & 0x7f) * 2 ** shift
      if (byte < 0x80) return value
    }
    throw new Error('the message is not protobuf')
  }
  while (at < message.length) {
    const tag = varint()
    const wire = tag & 7
    if (wire === 0) varint()
    else if (wire === 1) at += 8
    else if (wire === 5) at += 4
    else if (wire === lengthDelimited) {
      const length = varint()
      const value = message.subarray(at, at + length)
      if (value.length < length) throw new Error('the message is cut short')
      at += length
      yield { number: tag >>> 3, value }
    } else throw new Error('the message is not protobuf')
  }
}

export function readRegisterRequest(message: Buffer): RegisterRequest {
  const texts = new Map<number, string>()
  for (const { number, value } of fieldsOf(message)) texts.set(number, value.toString())
  return {
    version: texts.get(1) ?? '',
    endpoint: texts.get(2) ?? '',
    resourceName: texts.get(3) ?? '',
  }
}

/** A `ListAndWatchResponse`. */
export function readDevices(message: Buffer): Device[] {
  const devices: Device[] = []
  for (const { number, value } of fieldsOf(message)) {
    if (number !== 1) continue
    const texts = new Map<number, string>()
    for (const field of fieldsOf(value)) texts.set(field.number, field.value.toString())
    devices.push({ id: texts.get(1) ?? '', isHealthy: texts.get(2) === 'Healthy' })
  }
  return devices
}
