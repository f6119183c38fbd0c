/** RawJson: a JSON value of which only the text has been made. Writers of JSON and protobuf write the text as it is. */
export class RawJson {
  readonly text: string

  /** Canonical JSON. */
  constructor(text: string) {
    this.text = text
  }

  toJSON(): unknown {
    return JSON.parse(this.text)
  }
}
