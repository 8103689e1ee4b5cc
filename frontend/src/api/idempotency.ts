/** Makes Idempotency-Keys: the same for the same body, so that pressing a button again after a lost answer is safe. */
export class IdempotencyKeys {
  #body: string | undefined;
  #key = "";

  keyFor(body: unknown): string {
    const text = JSON.stringify(body);
    if (text !== this.#body) {
      this.#body = text;
      this.#key = randomKey();
    }
    return this.#key;
  }

  /** After an answer, good or bad, the same body is a new request. */
  answered(): void {
    this.#body = undefined;
  }
}

function randomKey(): string {
  // Not crypto.randomUUID: browsers offer that to https pages only, and a console may be on plain http inside a network.
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
